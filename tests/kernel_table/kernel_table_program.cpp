// kernel-table: the tables of all kernels in kernels/README.md, written from their declarations.
//
//   kernel-table [--check] PAGE [PLUGIN_FOLDER]
//
// Writes the tables between the page's markers; with --check it changes nothing and says what is
// different. Exit code 77: this build has no kernel to compare with.

#include "kernels/plugin_library.hpp"
#include "tests/kernel_table/kernel_table.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace overlap {
namespace {

enum ExitCode : int { kDone = 0, kDifferent = 1, kMisuse = 2, kNothingToCompare = 77 };

std::string read_page(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error(path + " cannot be read");
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

KernelRegistry all_kernels(const std::string& plugin_folder) {
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  if (!plugin_folder.empty() && std::filesystem::is_directory(plugin_folder)) {
    for (const RefusedKernels& refused : load_plugins(plugin_folder, kernels).refused) {
      throw std::runtime_error(refused.file + " is refused: " + refused.reason);
    }
  }
  return kernels;
}

int check(const std::string& path, const KernelRegistry& kernels) {
  const std::vector<const Kernel*> all = kernels.all();
  if (std::ranges::none_of(all, [](const Kernel* kernel) { return kernel->has_cuda(); })) {
    std::puts("this build has no CUDA, and the page says where each kernel runs");
    return kNothingToCompare;
  }
  const std::vector<std::string> found = differences(read_page(path), kernels);
  for (const std::string& difference : found) {
    std::printf("%s\n", difference.c_str());
  }
  if (!found.empty()) {
    std::printf("%s is not what the kernels declare; rewrite it with ./dev kernel-table\n",
                path.c_str());
    return kDifferent;
  }
  return kDone;
}

int write(const std::string& path, const KernelRegistry& kernels) {
  const std::string page = with_tables(read_page(path), kernel_tables(kernels));
  std::ofstream file(path, std::ios::binary);
  file << page;
  file.close();
  if (!file) {
    throw std::runtime_error(path + " cannot be written");
  }
  return kDone;
}

int run(std::vector<std::string> words) {
  const bool only_checks = !words.empty() && words.front() == "--check";
  if (only_checks) {
    words.erase(words.begin());
  }
  if (words.empty() || words.size() > 2) {
    std::fputs("usage: kernel-table [--check] PAGE [PLUGIN_FOLDER]\n", stderr);
    return kMisuse;
  }
  const KernelRegistry kernels = all_kernels(words.size() == 2 ? words[1] : std::string());
  return only_checks ? check(words[0], kernels) : write(words[0], kernels);
}

}  // namespace
}  // namespace overlap

int main(int argc, char** argv) {
  try {
    return overlap::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernel-table: %s\n", error.what());
    return overlap::kMisuse;
  }
}
