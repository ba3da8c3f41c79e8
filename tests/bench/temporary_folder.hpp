#pragma once

#include <string>

namespace overlap::bench {

/// A folder that goes with this object.
class TemporaryFolder {
 public:
  /// @throws std::runtime_error
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace overlap::bench
