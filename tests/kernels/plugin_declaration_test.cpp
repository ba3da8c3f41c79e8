#include "kernels/plugin_declaration.hpp"

#include "tests/kernels/declared_kernel.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace overlap {
namespace {

using test::DeclaredKernel;

/// A plug-in of one kernel.
struct DeclaredPlugin {
  DeclaredKernel kernel;
  const overlap_kernel* kernels[1] = {&kernel.kernel};
  overlap_plugin plugin{sizeof(overlap_plugin),
                        OVERLAP_KERNEL_ABI_MAJOR,
                        OVERLAP_KERNEL_ABI_MINOR,
                        1,
                        "example",
                        "1.2.3",
                        kernels};
};

std::string plugin_refusal(const std::function<void(overlap_plugin&)>& spoil) {
  DeclaredPlugin declared;
  spoil(declared.plugin);
  try {
    static_cast<void>(read_plugin(&declared.plugin));
  } catch (const PluginError& error) {
    return error.what();
  }
  return {};
}

TEST(PluginDeclaration, IsReadWhole) {
  const DeclaredPlugin declared;
  const PluginDeclaration sut = read_plugin(&declared.plugin);
  EXPECT_EQ(sut.name, "example");
  EXPECT_EQ(sut.version, "1.2.3");
  ASSERT_EQ(sut.kernels.size(), 1U);
  EXPECT_EQ(sut.kernels[0], &declared.kernel.kernel);
}

TEST(PluginDeclaration, NamesBothVersionsOfTheAbiWhereTheyDoNotGoTogether) {
  for (const std::uint32_t major : {0U, 2U, UINT32_MAX}) {
    const std::string text = plugin_refusal([major](overlap_plugin& p) {
      p.abi_major = major;
      p.struct_bytes = 12;  // all that a version we do not know may have kept
    });
    EXPECT_NE(text.find(std::to_string(major) + ".0"), std::string::npos) << text;
    EXPECT_NE(text.find("this program 1.0"), std::string::npos) << text;
    EXPECT_NE(text.find("rebuild"), std::string::npos) << text;
  }
  const std::string newer = plugin_refusal([](overlap_plugin& p) { p.abi_minor = 1; });
  EXPECT_NE(newer.find("1.1"), std::string::npos) << newer;
  EXPECT_NE(newer.find("update overlapd"), std::string::npos) << newer;
}

TEST(PluginDeclaration, RefusesWhatItCannotRead) {
  EXPECT_THROW(static_cast<void>(read_plugin(nullptr)), PluginError);
  for (const std::uint32_t bytes : {0U, 11U, 12U, 39U}) {
    EXPECT_NE(plugin_refusal([bytes](overlap_plugin& p) {
                p.struct_bytes = bytes;
              }).find(std::to_string(bytes) + " bytes"),
              std::string::npos)
        << bytes;
  }
  EXPECT_NE(plugin_refusal([](overlap_plugin& p) { p.kernel_count = 0; }), "");
  EXPECT_NE(plugin_refusal([](overlap_plugin& p) { p.kernel_count = 257; }), "");
  EXPECT_NE(plugin_refusal([](overlap_plugin& p) { p.kernels = nullptr; }), "");
  EXPECT_NE(plugin_refusal([](overlap_plugin& p) { p.name = ""; }), "");
  EXPECT_NE(plugin_refusal([](overlap_plugin& p) { p.version = nullptr; }), "");
  EXPECT_NE(plugin_refusal([](overlap_plugin& p) { p.version = "1\n2"; }), "");
  static const overlap_kernel* const kNull[1] = {nullptr};
  EXPECT_NE(plugin_refusal([](overlap_plugin& p) { p.kernels = kNull; }), "");
}

}  // namespace
}  // namespace overlap
