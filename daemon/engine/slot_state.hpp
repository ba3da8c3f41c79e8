#pragma once

#include <array>
#include <cstdint>

namespace overlap {

/// Where the daemon sees a slot on its way.
///
///            submission taken            put on a lane             event over
///    free ──────────────────▶ queued ──────────────────▶ issued ──────────────┐
///     ▲  ╲                      │  ▲                        │                 │
///     │   ╲ refused at once     │  └── batch issued again ──┘                 ▼
///     │    ╲                    │     (after an error)                  completed
///     │     ╲───────────────────┼────────────────────────────────────▶      │
///     │                         └── cancelled, expired ──────────────▶      │
///     └────────────────────── completion collected ─────────────────────────┘
enum class SlotState : std::uint8_t { free, queued, issued, completed };

/// Every step a slot may make; anything else is a fault of the producer or of ours.
inline constexpr std::array<std::array<bool, 4>, 4> kSlotSteps = {{
    // to:        free   queued issued completed
    /* free */ {{false, true, false, true}},
    /* queued */ {{false, false, true, true}},
    /* issued */ {{false, true, false, true}},
    /* completed */ {{true, false, false, false}},
}};

[[nodiscard]] constexpr bool may_step(SlotState from, SlotState to) noexcept {
  return kSlotSteps[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

}  // namespace overlap
