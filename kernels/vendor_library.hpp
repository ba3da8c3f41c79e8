#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace overlap {

/// A shared library that is opened at its first use and stays open, as the GPU's math libraries are:
/// nothing that is linked to them could start where they are missing.
class VendorLibrary {
 public:
  /// Tries these names in turn, each as the loader finds it, then in the CUDA toolkit's folders.
  /// @param[out] why each name and what the loader said, if none can be opened
  [[nodiscard]] static std::optional<VendorLibrary> open(std::initializer_list<const char*> names,
                                                         std::string& why);

  /// @param[out] function null, and named in `why`, if the library does not have it
  template <class Function>
  [[nodiscard]] bool find(const char* name, Function*& function, std::string& why) const {
    function = reinterpret_cast<Function*>(address_of(name, why));
    return function != nullptr;
  }

 private:
  explicit VendorLibrary(void* handle, std::string name)
      : handle_(handle), name_(std::move(name)) {}
  [[nodiscard]] void* address_of(const char* name, std::string& why) const;

  void* handle_;
  std::string name_;
};

}  // namespace overlap
