#include "kernels/plugin_export.hpp"

#include "tests/kernels/relative_error.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace overlap::test {
namespace {

constexpr std::array<std::string_view, 2> kChoices = {"red", "green"};
constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"gain", ParameterType::real, {.f64 = 2}, -1, 3, "dB", "how loud", {}, true},
    Parameter{"colour", ParameterType::choice, {.choice_index = 1}, 0, 0, "", "which", kChoices}};

/// Refuses odd sizes, and throws where it is told to.
class ScriptedKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "scripted"; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "for tests"; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
    return kParameters;
  }
  [[nodiscard]] std::string_view table_help() const noexcept override { return "a table"; }
  [[nodiscard]] std::uint64_t table_bytes(ParameterView) const noexcept override { return 12; }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override {
    return params[1].choice_index + 1;
  }
  [[nodiscard]] PlanOrRefusal plan(ParameterView, std::uint64_t input_bytes) const override {
    if (input_bytes == 666) {
      throw std::runtime_error("the plan threw");
    }
    if (input_bytes % 2 != 0) {
      return Refusal{"odd sizes do not fit"};
    }
    return Plan{input_bytes * 3, OutputSize::up_to, 5, Path::copy | Path::mapped, 7};
  }
  [[nodiscard]] std::optional<Refusal> prepare(ParameterView, std::uint64_t input_bytes,
                                               bool on_gpu) const override {
    return on_gpu ? std::optional<Refusal>{Refusal{"no GPU for " + std::to_string(input_bytes)}}
                  : std::nullopt;
  }
  void run(const overlap_batch& batch) const override {
    if (batch.max_input_bytes == 666) {
      throw 1;
    }
    *static_cast<std::byte*>(item_at(batch, 0).output) = std::byte{42};
  }
  [[nodiscard]] bool has_cuda() const noexcept override { return false; }
  [[nodiscard]] int launch(const overlap_batch&, OpaqueStream) const override { return 0; }
  std::uint64_t reference(const ReferenceJob&) const override { return 0; }
};

const overlap_kernel& scripted() {
  static const overlap_plugin* const kPlugin = export_plugin<ScriptedKernel>("mine", "1.2");
  return *kPlugin->kernels[0];
}

constexpr overlap_param_value kValues[2] = {{.f64 = 1}, {.choice_index = 1}};

TEST(PluginExport, DescribesTheKernelAndItsParameters) {
  const overlap_plugin* const plugin = export_plugin<ScriptedKernel>("mine", "1.2");
  ASSERT_NE(plugin, nullptr);
  EXPECT_EQ(plugin->struct_bytes, sizeof(overlap_plugin));
  EXPECT_EQ(plugin->abi_major, OVERLAP_KERNEL_ABI_MAJOR);
  EXPECT_EQ(plugin->abi_minor, OVERLAP_KERNEL_ABI_MINOR);
  EXPECT_STREQ(plugin->name, "mine");
  EXPECT_STREQ(plugin->version, "1.2");
  ASSERT_EQ(plugin->kernel_count, 1U);
  const overlap_kernel& sut = *plugin->kernels[0];
  EXPECT_EQ(sut.struct_bytes, sizeof(overlap_kernel));
  EXPECT_STREQ(sut.name, "scripted");
  EXPECT_STREQ(sut.summary, "for tests");
  EXPECT_STREQ(sut.table_help, "a table");
  EXPECT_EQ(sut.param_stride_bytes, sizeof(overlap_parameter));
  ASSERT_EQ(sut.param_count, 2U);
  EXPECT_STREQ(sut.params[0].name, "gain");
  EXPECT_EQ(sut.params[0].type, OVERLAP_REAL);
  EXPECT_EQ(sut.params[0].flags, OVERLAP_PARAMETER_PER_JOB);
  EXPECT_EQ(sut.params[0].default_value.f64, 2);
  EXPECT_EQ(sut.params[0].minimum, -1);
  EXPECT_EQ(sut.params[0].maximum, 3);
  EXPECT_STREQ(sut.params[0].unit, "dB");
  EXPECT_STREQ(sut.params[0].help, "how loud");
  EXPECT_EQ(sut.params[0].choices, nullptr);
  EXPECT_EQ(sut.params[1].type, OVERLAP_CHOICE);
  EXPECT_EQ(sut.params[1].flags, 0U);
  ASSERT_EQ(sut.params[1].choice_count, 2U);
  EXPECT_STREQ(sut.params[1].choices[0], "red");
  EXPECT_STREQ(sut.params[1].choices[1], "green");
}

TEST(PluginExport, HandsOverSizesOrTheReasonWhyNot) {
  const overlap_kernel& sut = scripted();
  EXPECT_EQ(sut.granule_bytes(&sut, kValues), 2U);
  EXPECT_EQ(sut.table_bytes(&sut, kValues), 12U);
  overlap_plan plan{};
  plan.struct_bytes = sizeof plan;
  char text[100] = "";
  ASSERT_EQ(sut.plan(&sut, kValues, 10, &plan, text, sizeof text), 0);
  EXPECT_EQ(plan.max_output_bytes, 30U);
  EXPECT_EQ(plan.output_size, OVERLAP_OUTPUT_UP_TO);
  EXPECT_EQ(plan.workspace_bytes, 5U);
  EXPECT_EQ(plan.state_bytes, 7U);
  EXPECT_EQ(plan.paths, OVERLAP_PATH_COPY | OVERLAP_PATH_MAPPED);
  EXPECT_NE(sut.plan(&sut, kValues, 11, &plan, text, sizeof text), 0);
  EXPECT_STREQ(text, "odd sizes do not fit");
}

TEST(PluginExport, CutsATextToTheRoomThereIs) {
  const overlap_kernel& sut = scripted();
  overlap_plan plan{};
  char text[5] = "";
  EXPECT_NE(sut.plan(&sut, kValues, 11, &plan, text, sizeof text), 0);
  EXPECT_STREQ(text, "odd ");
  EXPECT_NE(sut.plan(&sut, kValues, 11, &plan, nullptr, 0), 0);
}

TEST(PluginExport, LetsNoExceptionOut) {
  const overlap_kernel& sut = scripted();
  overlap_plan plan{};
  char text[100] = "";
  EXPECT_NE(sut.plan(&sut, kValues, 666, &plan, text, sizeof text), 0);
  EXPECT_STREQ(text, "the plan threw");
  std::uint32_t status = OVERLAP_ITEM_OK;
  overlap_batch_item item{};
  item.status = &status;
  overlap_batch batch{};
  batch.items = &item;
  batch.item_count = 1;
  batch.item_stride_bytes = sizeof item;
  batch.max_input_bytes = 666;
  sut.run(&sut, &batch);
  EXPECT_EQ(status, OVERLAP_ITEM_FAILED);
}

TEST(PluginExport, LeavesNoStateBehindWhenARunThrows) {
  const overlap_kernel& sut = scripted();
  struct Channel {
    std::uint64_t input_bytes;
    std::array<std::uint8_t, 8> expected;
  };
  // A plan says 7 bytes; an empty job has changed none, and one that cannot be planned never came.
  const std::array<Channel, 3> channels = {Channel{10, {0, 0, 0, 0, 0, 0, 0, 1}},
                                           Channel{0, {1, 1, 1, 1, 1, 1, 1, 1}},
                                           Channel{666, {1, 1, 1, 1, 1, 1, 1, 1}}};
  std::array<std::array<std::uint8_t, 8>, 3> states{};
  std::array<std::uint32_t, 3> statuses{};
  std::array<overlap_batch_item, 3> items{};
  for (std::size_t i = 0; i < items.size(); ++i) {
    states[i].fill(1);
    items[i].input_bytes = channels[i].input_bytes;
    items[i].state = states[i].data();
    items[i].status = &statuses[i];
  }
  overlap_batch batch{};
  batch.items = items.data();
  batch.item_count = 3;
  batch.item_stride_bytes = sizeof(overlap_batch_item);
  batch.params = kValues;
  batch.max_input_bytes = 666;
  sut.run(&sut, &batch);
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(statuses[i], OVERLAP_ITEM_FAILED) << i;
    EXPECT_EQ(states[i], channels[i].expected) << i;
  }
}

TEST(PluginExport, RunsThroughTheCFunctionsAndLeavesOutWhatIsNotThere) {
  const overlap_kernel& sut = scripted();
  std::byte output{};
  overlap_batch_item item{};
  item.output = &output;
  overlap_batch batch{};
  batch.items = &item;
  batch.item_count = 1;
  batch.item_stride_bytes = sizeof item;
  sut.run(&sut, &batch);
  EXPECT_EQ(output, std::byte{42});
  EXPECT_EQ(sut.launch, nullptr);
  char text[100] = "";
  EXPECT_EQ(sut.prepare(&sut, kValues, 8, 0, text, sizeof text), 0);
  EXPECT_NE(sut.prepare(&sut, kValues, 8, 1, text, sizeof text), 0);
  EXPECT_STREQ(text, "no GPU for 8");
}

/// The plug-ins as they are built, beside this program.
class BuiltPlugin : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    path_ =
        program.parent_path() / "kernels" / ("overlap_kernels_" + std::string(GetParam()) + ".so");
    handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
  }

  std::filesystem::path path_;
  void* handle_ = nullptr;  // stays open: what it handed out lives as long as it
};

TEST_P(BuiltPlugin, HandsOverOneKernelOfItsName) {
  const auto entry =
      reinterpret_cast<const overlap_plugin* (*)()>(dlsym(handle_, OVERLAP_PLUGIN_ENTRY));
  ASSERT_NE(entry, nullptr);
  const overlap_plugin* const plugin = entry();
  ASSERT_NE(plugin, nullptr);
  EXPECT_EQ(plugin, entry()) << "it is one and the same";
  EXPECT_EQ(plugin->abi_major, OVERLAP_KERNEL_ABI_MAJOR);
  EXPECT_STREQ(plugin->name, GetParam());
  ASSERT_EQ(plugin->kernel_count, 1U);
  const overlap_kernel& sut = *plugin->kernels[0];
  EXPECT_STREQ(sut.name, GetParam());
  std::vector<overlap_param_value> defaults;
  for (std::uint32_t i = 0; i < sut.param_count; ++i) {
    EXPECT_STRNE(sut.params[i].help, "") << sut.params[i].name;
    defaults.push_back(sut.params[i].default_value);
  }
  const std::uint64_t granule = sut.granule_bytes(&sut, defaults.data());
  overlap_plan plan{};
  plan.struct_bytes = sizeof plan;
  char text[200] = "";
  EXPECT_EQ(sut.plan(&sut, defaults.data(), 2 * granule, &plan, text, sizeof text), 0) << text;
  EXPECT_GT(plan.max_output_bytes, 0U);
  EXPECT_NE(sut.plan(&sut, defaults.data(), granule + 1, &plan, text, sizeof text), 0);
  EXPECT_NE(std::string(text).find(GetParam()), std::string::npos) << text;
}

TEST_P(BuiltPlugin, ExportsNothingElse) {
  // Symbols that the daemon has too, and the linked libraries' own.
  for (const char* const name :
       {"_ZN7overlap14KernelRegistry20with_builtin_kernelsEv",
        "_ZN7overlap13refuse_misfitESt17basic_string_viewIcSt11char_traitsIcEES3_mm",
        "cudaGetDevice"}) {
    const void* const symbol = dlsym(handle_, name);
    Dl_info info{};
    const bool is_its_own = symbol != nullptr && dladdr(symbol, &info) != 0 &&
                            std::filesystem::path(info.dli_fname) == path_;
    EXPECT_FALSE(is_its_own) << name;
  }
}

TEST_P(BuiltPlugin, NeedsNoLibraryOfTheGpu) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const char* const library : {"libcuda.", "libcudart.", "libcufft.", "libcublas."}) {
      EXPECT_EQ(line.find(library), std::string::npos) << line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ours, BuiltPlugin, testing::Values("fft", "gemm"),
                         [](const testing::TestParamInfo<const char*>& which) {
                           return std::string(which.param);
                         });

}  // namespace
}  // namespace overlap::test
