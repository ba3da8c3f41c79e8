#include "daemon/source/kernel_cache.hpp"

#include "daemon/source/cache_entry.hpp"
#include "daemon/source/trusted_file.hpp"
#include "shared/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace overlap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntryBytes = std::size_t{256} << 20U;

std::string value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string reason_of(int error_number) { return std::generic_category().message(error_number); }

/// Makes what is missing of the folder. @return why it cannot be used; empty if it can
std::string prepare_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return "cannot be made: " + reason_of(errno);
  }
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    return "cannot be looked at: " + reason_of(errno);
  }
  if (!S_ISDIR(status.st_mode)) {
    return "is no folder";
  }
  return why_not_trusted(status);
}

bool write_all(const FileDescriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(put > 0 ? static_cast<std::size_t>(put) : 0);
  }
  return true;
}

}  // namespace

CacheEnvironment CacheEnvironment::of_this_process() {
  return {value_of("CACHE_DIRECTORY"), value_of("XDG_CACHE_HOME"), value_of("HOME")};
}

std::optional<std::string> kernel_cache_folder(const std::optional<std::string>& option,
                                               const CacheEnvironment& environment) {
  if (option) {
    return *option == "off" ? std::nullopt : option;
  }
  const auto is_absolute = [](const std::string& path) { return path.starts_with('/'); };
  const std::string first =
      environment.cache_directory.substr(0, environment.cache_directory.find(':'));
  if (is_absolute(first)) {
    return first;
  }
  if (is_absolute(environment.xdg_cache_home)) {
    return environment.xdg_cache_home + "/overlapd";
  }
  if (is_absolute(environment.home)) {
    return environment.home + "/.cache/overlapd";
  }
  return std::nullopt;
}

KernelCache::KernelCache(std::optional<std::string> folder, spdlog::logger& log)
    : folder_(std::move(folder)), log_(log) {
  if (!folder_) {
    return;
  }
  if (const std::string reason = prepare_folder(*folder_); !reason.empty()) {
    log_.warn("kernel cache {} {}: compiled kernels are not kept", *folder_, reason);
    folder_.reset();
  }
}

std::string KernelCache::entry_path(std::string_view key) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::uint64_t hash = hash_of(key);
  std::string name;
  for (unsigned shift = 64; shift != 0; shift -= 4) {
    name += kDigits[hash >> (shift - 4) & 0xfU];
  }
  return *folder_ + "/" + name + ".kernel";
}

std::optional<CompiledSource> KernelCache::find(std::string_view key) const {
  if (!folder_) {
    return std::nullopt;
  }
  const std::string path = entry_path(key);
  const auto ignored = [&](const std::string& reason) -> std::optional<CompiledSource> {
    log_.warn("kernel cache: {} {}; it is ignored, and made anew", path, reason);
    return std::nullopt;
  };
  const TrustedText file = read_trusted_file(path, kMaxEntryBytes, LinkRule::refuse);
  if (file.outcome == TrustedText::Outcome::absent) {
    return std::nullopt;
  }
  if (file.outcome == TrustedText::Outcome::refused) {
    return ignored(file.reason);
  }
  auto entry = read_entry(file.text);
  if (!entry) {
    return ignored("is damaged or of another version");
  }
  if (entry->key != key) {
    return ignored("is of another kernel with the same hash");
  }
  return std::move(entry->compiled);
}

void KernelCache::store(std::string_view key, const CompiledSource& compiled) const {
  if (!folder_) {
    return;
  }
  const std::string path = entry_path(key);
  std::string temporary = path + ".XXXXXX";
  const auto complain = [&](const char* what, int error_number) {
    log_.warn("kernel cache: {} cannot be {}: {}; it is compiled again next time", path, what,
              reason_of(error_number));
  };
  const FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
  if (!file) {
    return complain("made", errno);
  }
  if (!write_all(file, write_entry(key, compiled))) {
    complain("written", errno);
  } else if (::rename(temporary.c_str(), path.c_str()) != 0) {
    complain("put in its place", errno);
  } else {
    return;
  }
  ::unlink(temporary.c_str());
}

}  // namespace overlap
