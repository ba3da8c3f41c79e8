#pragma once

#include "daemon/control/pin_worker.hpp"
#include "daemon/engine/engine.hpp"
#include "shared/file_descriptor.hpp"

#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace overlap {

struct ChannelViolated {
  ChannelId channel;
  std::string why;
};
struct ChannelRemoved {
  ChannelId channel;
};
/// The tables that the channel came with are the daemon's own.
struct TablesCopied {
  ChannelId channel;
};
struct EngineDrained {};
struct DeviceLost {
  int code;
};
/// The source kernels' files have been read again.
struct SourcesRebuilt {};

/// What other threads tell the control thread.
using ControlMail = std::variant<ChannelViolated, ChannelRemoved, TablesCopied, EngineDrained,
                                 DeviceLost, SourcesRebuilt, PinReport>;

/// Letters to the control thread and the eventfd that announces them.
class ControlMailbox {
 public:
  ControlMailbox() : announcement_(make_eventfd()) {}

  /// Readable while there may be letters.
  [[nodiscard]] int descriptor() const noexcept { return announcement_.get(); }

  /// Any thread; a short lock, no waiting.
  void post(ControlMail mail) {
    {
      const std::lock_guard lock(mutex_);
      mails_.push_back(std::move(mail));
    }
    ring(announcement_.get());
  }

  /// The control thread.
  [[nodiscard]] std::vector<ControlMail> take() {
    silence(announcement_.get());
    const std::lock_guard lock(mutex_);
    return std::exchange(mails_, {});
  }

 private:
  FileDescriptor announcement_;
  std::mutex mutex_;
  std::vector<ControlMail> mails_;
};

}  // namespace overlap
