#include "kernels/kernel_registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

namespace overlap {
namespace {

/// A kernel with nothing but a name.
class NamedKernel final : public Kernel {
 public:
  explicit NamedKernel(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "a name"; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override { return {}; }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView) const noexcept override { return 1; }
  [[nodiscard]] PlanOrRefusal plan(ParameterView, std::uint64_t) const override { return Plan{}; }
  void run(const overlap_batch&) const override {}
  [[nodiscard]] bool has_cuda() const noexcept override { return false; }
  [[nodiscard]] int launch(const overlap_batch&, OpaqueStream) const override { return 801; }
  std::uint64_t reference(const ReferenceJob&) const override { return 0; }

 private:
  std::string name_;
};

std::vector<std::string> names(const KernelRegistry& registry) {
  std::vector<std::string> result;
  for (const Kernel* const kernel : registry.all()) {
    result.emplace_back(kernel->name());
  }
  return result;
}

/// In alphabetical order.
std::vector<std::string> builtin_names() {
  std::vector<std::string> all = {"convert",   "copy",      "fir",   "gaussian_blur",  "grayscale",
                                  "histogram", "integrate", "lut",   "power_spectrum", "reduce",
                                  "resize",    "saxpy",     "scale", "sobel",          "spin",
                                  "transpose", "vector_add"};
#if OVERLAP_TEST_KERNELS
  all.insert(all.begin() + 2, "fault");
#endif
  return all;
}

TEST(KernelRegistry, HoldsNothingAtFirst) {
  const KernelRegistry sut;
  EXPECT_TRUE(sut.all().empty());
  EXPECT_EQ(sut.find("copy"), nullptr);
}

TEST(KernelRegistry, KnowsTheBuiltinKernelsInAlphabeticalOrder) {
  const KernelRegistry sut = KernelRegistry::with_builtin_kernels();
  EXPECT_EQ(names(sut), builtin_names());
}

TEST(KernelRegistry, FindsAKernelByItsWholeNameOnly) {
  const KernelRegistry sut = KernelRegistry::with_builtin_kernels();
  ASSERT_NE(sut.find("scale"), nullptr);
  EXPECT_EQ(sut.find("scale")->name(), "scale");
  for (const std::string_view name : {"", "scal", "scale ", "SCALE", "scale:a=1"}) {
    EXPECT_EQ(sut.find(name), nullptr) << name;
  }
}

TEST(KernelRegistry, KeepsTheOrderWhenAKernelIsAddedLater) {
  KernelRegistry sut = KernelRegistry::with_builtin_kernels();
  sut.add(std::make_unique<NamedKernel>("median"));
  sut.add(std::make_unique<NamedKernel>("abs"));
  std::vector<std::string> expected = builtin_names();
  expected.insert(expected.end(), {"abs", "median"});
  std::ranges::sort(expected);
  EXPECT_EQ(names(sut), expected);
}

TEST(KernelRegistry, RefusesANameThatIsTaken) {
  KernelRegistry sut = KernelRegistry::with_builtin_kernels();
  EXPECT_THROW(sut.add(std::make_unique<NamedKernel>("copy")), std::invalid_argument);
  EXPECT_EQ(names(sut), builtin_names());
}

TEST(KernelRegistry, RefusesANameThatAPipelineCannotHold) {
  KernelRegistry sut;
  for (const char* const name : {"", "a:b", "a,b", "a|b", "a=b", "A", "a b", "\xc3\xa4"}) {
    EXPECT_THROW(sut.add(std::make_unique<NamedKernel>(name)), std::invalid_argument) << name;
  }
  EXPECT_THROW(sut.add(nullptr), std::invalid_argument);
  EXPECT_TRUE(sut.all().empty());
}

TEST(KernelRegistry, FindsAReplacedKernelNoMoreButKeepsItAlive) {
  KernelRegistry sut = KernelRegistry::with_builtin_kernels();
  sut.add(std::make_unique<NamedKernel>("median"));
  const Kernel* const first = sut.find("median");
  sut.replace(std::make_unique<NamedKernel>("median"));
  const Kernel* const second = sut.find("median");
  sut.replace(std::make_unique<NamedKernel>("median"));
  EXPECT_NE(sut.find("median"), first);
  EXPECT_NE(sut.find("median"), second);
  EXPECT_EQ(first->name(), "median");
  EXPECT_EQ(second->summary(), "a name");
  std::vector<std::string> expected = builtin_names();
  expected.emplace_back("median");
  std::ranges::sort(expected);
  EXPECT_EQ(names(sut), expected);
}

TEST(KernelRegistry, KeepsReplacedKernelsWhenItIsMoved) {
  KernelRegistry filled;
  filled.add(std::make_unique<NamedKernel>("median"));
  const Kernel* const old = filled.find("median");
  filled.replace(std::make_unique<NamedKernel>("median"));
  const KernelRegistry sut = std::move(filled);
  EXPECT_EQ(old->name(), "median");
  EXPECT_NE(sut.find("median"), old);
}

TEST(KernelRegistry, AddsAReplacementForNothing) {
  KernelRegistry sut;
  sut.replace(std::make_unique<NamedKernel>("median"));
  sut.replace(std::make_unique<NamedKernel>("abs"));
  EXPECT_EQ(names(sut), (std::vector<std::string>{"abs", "median"}));
}

TEST(KernelRegistry, RefusesAReplacementThatItWouldNotAdd) {
  KernelRegistry sut;
  sut.add(std::make_unique<NamedKernel>("median"));
  const Kernel* const old = sut.find("median");
  EXPECT_THROW(sut.replace(nullptr), std::invalid_argument);
  EXPECT_THROW(sut.replace(std::make_unique<NamedKernel>("a b")), std::invalid_argument);
  EXPECT_EQ(sut.find("median"), old);
  EXPECT_EQ(sut.all().size(), 1U);
}

TEST(KernelRegistry, NotesOneRefusalAFile) {
  KernelRegistry sut;
  EXPECT_TRUE(sut.refused().empty());
  sut.add_refused({"/a.so", "no entry"});
  sut.add_refused({"/b.so", "too old"});
  sut.add_refused({"/a.so", "too new"});
  ASSERT_EQ(sut.refused().size(), 2U);
  EXPECT_EQ(sut.refused()[0].file, "/a.so");
  EXPECT_EQ(sut.refused()[0].reason, "too new");
  sut.forget_refused("/a.so");
  sut.forget_refused("/c.so");
  ASSERT_EQ(sut.refused().size(), 1U);
  EXPECT_EQ(sut.refused()[0].file, "/b.so");
}

TEST(KernelRegistry, DescribesEveryParameterOfEveryKernel) {
  const KernelRegistry sut = KernelRegistry::with_builtin_kernels();
  for (const Kernel* const kernel : sut.all()) {
    EXPECT_FALSE(kernel->summary().empty()) << kernel->name();
    for (const Parameter& parameter : kernel->parameters()) {
      EXPECT_FALSE(parameter.help.empty()) << kernel->name() << " " << parameter.name;
      EXPECT_EQ(parameter.type == ParameterType::choice, !parameter.choices.empty());
    }
  }
}

}  // namespace
}  // namespace overlap
