#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace overlap {

/// Maps every page of a shared mapping, writable, so that nobody's first access pays for it; leaves
/// the bytes as they are, whoever writes them meanwhile. In pieces of 16 MiB.
/// @param thread_count how many threads share the work, the calling one included; fewer if there is
///        little to do or if no more can be had
/// @param go_on asked before each piece, by any of them; false ends the work there
/// @pre page-aligned; every page can be had
/// @return 0, or the errno of a page that could not be had after all
[[nodiscard]] int touch_pages(std::span<std::byte> memory, unsigned thread_count,
                              const std::function<bool()>& go_on);

/// The same for one piece, without the system call for it (Linux 5.14).
void touch_each_page(std::span<std::byte> memory) noexcept;

}  // namespace overlap
