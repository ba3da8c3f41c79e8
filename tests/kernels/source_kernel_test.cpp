#include "kernels/source/source_kernel.hpp"

#include "kernels/parameter_text.hpp"
#include "tests/kernels/kernel_batch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

namespace overlap::test {
namespace {

/// Counts launches.
class CountingCode final : public SourceCode {
 public:
  explicit CountingCode(int& count) : count_(count) {}
  [[nodiscard]] int launch(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) const override {
    return ++count_;
  }

 private:
  int& count_;
};

/// A host implementation as a plug-in would bring it.
class HostTwice final : public Kernel {
 public:
  std::string called = "a";
  double maximum = 10;
  std::uint64_t growth = 2;
  std::uint64_t granule = 4;
  std::uint64_t state_bytes = 0;
  bool has_gpu = false;

  [[nodiscard]] std::string_view name() const noexcept override { return "twice"; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "x, x"; }
  [[nodiscard]] std::string_view origin() const noexcept override { return "/lib/twice.so"; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
    parameter_ = {
        {{called, ParameterType::real, {.f64 = 1}, 0, maximum, "V", "help of its own", {}}}};
    return parameter_;
  }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView /*params*/) const noexcept override {
    return granule;
  }
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override {
    if (params[0].f64 == 7) {
      return Refusal{"not 7"};
    }
    Plan plan;
    plan.max_output_bytes = params[0].f64 == 8 ? 1 : input_bytes * growth;
    plan.workspace_bytes = 3;
    plan.state_bytes = state_bytes;
    return plan;
  }
  void run(const overlap_batch& /*batch*/) const override { ++runs; }
  [[nodiscard]] bool has_cuda() const noexcept override { return has_gpu; }
  [[nodiscard]] int launch(const overlap_batch& /*batch*/, OpaqueStream) const override {
    return 1;
  }
  std::uint64_t reference(const ReferenceJob& /*job*/) const override { return 77; }

  mutable int runs = 0;

 private:
  mutable std::array<Parameter, 1> parameter_{};
};

SourceDeclaration twice() {
  return parse_declaration(
      "//! kernel twice \"x, x\"\n//! batch twice\n//! granule 4\n//! output 2/1\n"
      "//! param a real 1 0 10 V \"help\"\n",
      "/etc/twice.cu");
}

SourceDeclaration element(const std::string& types) {
  return parse_declaration("//! kernel f \"f of x\"\n//! element f " + types +
                               "\n//! param mode choice b a,b \"which\"\n",
                           "f.cu");
}

Plan plan_of(const Kernel& kernel, ParameterView params, std::uint64_t bytes) {
  return std::get<Plan>(kernel.plan(params, bytes));
}

std::string refusal(const Kernel& kernel, ParameterView params, std::uint64_t bytes) {
  const PlanOrRefusal planned = kernel.plan(params, bytes);
  const auto* const refused = std::get_if<Refusal>(&planned);
  return refused == nullptr ? std::string() : refused->text;
}

TEST(SourceKernel, ShowsWhatTheFileDeclares) {
  const SourceKernel sut(element("u8 -> f32"), nullptr);
  EXPECT_EQ(sut.name(), "f");
  EXPECT_EQ(sut.summary(), "f of x");
  EXPECT_EQ(sut.origin(), "f.cu");
  ASSERT_EQ(sut.parameters().size(), 1U);
  EXPECT_EQ(sut.parameters()[0].name, "mode");
  EXPECT_EQ(sut.parameters()[0].help, "which");
  EXPECT_EQ(describe_values(sut.parameters()[0]), "one of a, b (default b)");
}

TEST(SourceKernel, WorksOutTheOutputOfElements) {
  const SourceKernel sut(element("u8 -> f32"), nullptr);
  EXPECT_EQ(sut.granule_bytes({}), 1U);
  EXPECT_EQ(plan_of(sut, {}, 0).max_output_bytes, 0U);
  EXPECT_EQ(plan_of(sut, {}, 1).max_output_bytes, 4U);
  EXPECT_EQ(plan_of(sut, {}, 1001).max_output_bytes, 4004U);
  EXPECT_NE(plan_of(sut, {}, 1).paths & static_cast<std::uint8_t>(Path::mapped), 0);
  EXPECT_EQ(plan_of(SourceKernel(element("f64 -> u8"), nullptr), {}, 24).max_output_bytes, 3U);
}

TEST(SourceKernel, RefusesPartsOfAnElement) {
  const SourceKernel sut(element("f64 -> u8"), nullptr);
  EXPECT_NE(refusal(sut, {}, 12).find("send 8 or 16 bytes"), std::string::npos);
}

TEST(SourceKernel, RefusesAnOutputBeyond64Bits) {
  const SourceKernel sut(element("u8 -> f64"), nullptr);
  EXPECT_NE(refusal(sut, {}, std::uint64_t{1} << 61U).find("64 bits"), std::string::npos);
  EXPECT_EQ(refusal(sut, {}, (std::uint64_t{1} << 61U) - 1), "");
}

TEST(SourceKernel, PlansABatchFunctionAsDeclared) {
  const SourceKernel sut(twice(), nullptr);
  EXPECT_EQ(sut.granule_bytes({}), 4U);
  EXPECT_EQ(plan_of(sut, {}, 12).max_output_bytes, 24U);
  EXPECT_EQ(plan_of(sut, {}, 12).paths & static_cast<std::uint8_t>(Path::mapped), 0);
  const SourceKernel fixed(
      parse_declaration("//! kernel f \"f\"\n//! batch f\n//! output 8 bytes\n//! mapped\n"
                        "//! table 16 \"t\"\n",
                        "f.cu"),
      nullptr);
  EXPECT_EQ(plan_of(fixed, {}, 12).max_output_bytes, 8U);
  EXPECT_EQ(plan_of(fixed, {}, 0).max_output_bytes, 0U);
  EXPECT_NE(plan_of(fixed, {}, 12).paths & static_cast<std::uint8_t>(Path::mapped), 0);
  EXPECT_EQ(fixed.table_bytes({}), 16U);
  EXPECT_EQ(fixed.table_help(), "t");
}

TEST(SourceKernel, LaunchesItsCode) {
  int count = 0;
  const SourceKernel sut(twice(), std::make_unique<CountingCode>(count));
  EXPECT_TRUE(sut.has_cuda());
  EXPECT_FALSE(sut.has_host());
  EXPECT_EQ(sut.launch(overlap_batch{}, nullptr), 1);
  EXPECT_EQ(sut.launch(overlap_batch{}, nullptr), 2);
}

TEST(SourceKernel, DoesNothingWithoutCodeAndSaysSo) {
  const SourceKernel sut(twice(), nullptr);
  EXPECT_FALSE(sut.has_cuda());
  EXPECT_EQ(sut.launch(overlap_batch{}, nullptr), 801);
}

TEST(SourceKernel, FailsEveryJobOnTheHostWithoutAHostImplementation) {
  const SourceKernel sut(twice(), nullptr);
  const ParameterValues params{{.f64 = 1}};
  KernelBatch batch({&sut, params}, {std::vector<std::byte>(4), std::vector<std::byte>(8)});
  batch.run();
  EXPECT_EQ(batch.status(0), OVERLAP_ITEM_FAILED);
  EXPECT_EQ(batch.status(1), OVERLAP_ITEM_FAILED);
}

TEST(SourceKernel, HasNoReferenceOfItsOwn) {
  const SourceKernel sut(twice(), nullptr);
  EXPECT_THROW(static_cast<void>(sut.reference({})), NoReference);
}

TEST(SourceKernel, JoinsAHostImplementation) {
  const HostTwice host;
  ASSERT_EQ(why_not_joined(twice(), host), std::nullopt);
  int count = 0;
  const SourceKernel sut(twice(), std::make_unique<CountingCode>(count), &host);
  EXPECT_TRUE(sut.has_host());
  EXPECT_TRUE(sut.has_cuda());
  EXPECT_EQ(sut.host(), &host);
  sut.run(overlap_batch{});
  EXPECT_EQ(host.runs, 1);
  EXPECT_EQ(sut.launch(overlap_batch{}, nullptr), 1);
  EXPECT_EQ(sut.reference({}), 77U);
  const ParameterValues params{{.f64 = 1}};
  EXPECT_EQ(plan_of(sut, params, 8).max_output_bytes, 16U);
  EXPECT_EQ(plan_of(sut, params, 8).workspace_bytes, 3U) << "what the host implementation needs";
}

TEST(SourceKernel, RefusesWhatEitherOfTheJoinedRefuses) {
  const HostTwice host;
  const SourceKernel sut(twice(), nullptr, &host);
  const ParameterValues seven{{.f64 = 7}};
  const ParameterValues eight{{.f64 = 8}};
  EXPECT_EQ(refusal(sut, seven, 8), "not 7");
  EXPECT_NE(refusal(sut, seven, 9).find("whole granules"), std::string::npos);
  EXPECT_NE(refusal(sut, eight, 8).find("/lib/twice.so makes another size"), std::string::npos);
}

TEST(SourceKernel, IsNotJoinedWithWhatDeclaresSomethingElse) {
  const auto why = [](const auto& change) {
    HostTwice host;
    change(host);
    return why_not_joined(twice(), host).value_or("");
  };
  EXPECT_NE(why([](HostTwice& host) { host.called = "b"; }).find("is called 'b' there"),
            std::string::npos);
  EXPECT_NE(why([](HostTwice& host) { host.maximum = 11; }).find("another range"),
            std::string::npos);
  EXPECT_NE(why([](HostTwice& host) { host.granule = 8; }).find("granules of 8"),
            std::string::npos);
  EXPECT_NE(why([](HostTwice& host) { host.growth = 3; }).find("makes another size"),
            std::string::npos);
  EXPECT_NE(why([](HostTwice& host) { host.state_bytes = 1; }).find("keeps state"),
            std::string::npos);
  EXPECT_NE(why([](HostTwice& host) { host.has_gpu = true; }).find("the name is taken"),
            std::string::npos);
  const auto why_parameter = [](const std::string& line) {
    const HostTwice host;
    return why_not_joined(
               parse_declaration("//! kernel twice \"x\"\n//! batch f\n//! granule 4\n" + line,
                                 "f.cu"),
               host)
        .value_or("");
  };
  EXPECT_NE(why_parameter("").find("has 1 parameters, this file declares 0"), std::string::npos);
  EXPECT_NE(why_parameter("//! param a real 2 0 10 V \"a\"").find("another default"),
            std::string::npos);
  EXPECT_NE(why_parameter("//! param a integer 1 0 10 V \"a\"").find("another type"),
            std::string::npos);
  EXPECT_NE(why_parameter("//! param a real 1 0 10 A \"a\"").find("another unit"),
            std::string::npos);
  EXPECT_NE(why_parameter("//! param a real 1 0 10 V \"a\" per_job").find("say in jobs"),
            std::string::npos);
}

}  // namespace
}  // namespace overlap::test
