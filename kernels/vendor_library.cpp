#include "kernels/vendor_library.hpp"

#include <dlfcn.h>

namespace overlap {

std::optional<VendorLibrary> VendorLibrary::open(std::initializer_list<const char*> names,
                                                 std::string& why) {
  why.clear();
  for (const char* const name : names) {
    for (const char* const folder :
         {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/"}) {
      const std::string path = std::string(folder) + name;
      if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        return VendorLibrary(handle, path);
      }
      // A path that is not there says nothing that the bare name did not.
      if (*folder == '\0') {
        const char* const said = dlerror();
        why += (why.empty() ? "" : "; ") + std::string(said == nullptr ? path.c_str() : said);
      }
    }
  }
  return std::nullopt;
}

void* VendorLibrary::address_of(const char* name, std::string& why) const {
  void* const address = dlsym(handle_, name);
  if (address == nullptr) {
    why = name_ + " has no function " + name;
  }
  return address;
}

}  // namespace overlap
