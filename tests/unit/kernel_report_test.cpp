#include "daemon/ctl/kernel_report.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace overlap {
namespace {

ListedKernel blur() {
  ListedKernel kernel;
  kernel.name = "blur";
  kernel.summary = "weighs neighbours";
  kernel.origin = "/k/blur.so";
  kernel.flags = kListedHost | kListedCuda | kListedStateful | kListedTable;
  kernel.table_help = "weights, f32";
  ListedParameter sigma;
  sigma.name = "sigma";
  sigma.per_job = true;
  sigma.default_value.f64 = 1.5;
  sigma.minimum = 0.25;
  sigma.maximum = 50;
  sigma.unit = "pixels";
  sigma.help = "width";
  ListedParameter rows;
  rows.name = "rows";
  rows.type = ListedType::integer;
  rows.default_value.i64 = 1024;
  rows.minimum = 1;
  rows.maximum = 1048576;
  rows.help = "of an image";
  ListedParameter type;
  type.name = "type";
  type.type = ListedType::choice;
  type.default_value.choice_index = 1;
  type.choices = {"u8", "f32"};
  type.help = "of a pixel";
  kernel.parameters = {sigma, rows, type};
  return kernel;
}

ListedKernel refused() {
  ListedKernel file;
  file.kind = ListedKind::refused;
  file.origin = "/k/x.so";
  file.summary = "no entry";
  return file;
}

TEST(KernelReport, IsEmptyWithoutKernels) { EXPECT_EQ(kernel_report({}), ""); }

TEST(KernelReport, ShowsABlockForEachKernelAndThenWhatWasRefused) {
  const std::vector<ListedKernel> kernels{blur(), refused()};
  EXPECT_EQ(kernel_report(kernels),
            "blur: weighs neighbours\n"
            "    from /k/blur.so; runs on host cuda; keeps state from job to job\n"
            "    needs a table: weights, f32\n"
            "    parameter  type     default  takes              meaning\n"
            "    sigma      real     1.5      0.25 to 50 pixels  width (or a job's own)\n"
            "    rows       integer  1024     1 to 1048576       of an image\n"
            "    type       choice   f32      u8 f32             of a pixel\n"
            "\n"
            "refused: /k/x.so\n"
            "    no entry\n");
}

TEST(KernelReport, ShowsAKernelOfOneBackendWithoutParameters) {
  ListedKernel kernel;
  kernel.name = "copy";
  kernel.summary = "copies";
  kernel.origin = "built-in";
  kernel.flags = kListedHost;
  EXPECT_EQ(kernel_report(std::vector{kernel}), "copy: copies\n    from built-in; runs on host\n");
}

TEST(KernelReport, ShowsAnyFiniteNumberAsThat) {
  ListedKernel kernel = blur();
  kernel.parameters[0].minimum = -std::numeric_limits<double>::max();
  kernel.parameters[0].maximum = std::numeric_limits<double>::max();
  EXPECT_NE(kernel_report(std::vector{kernel}).find("any finite number pixels"), std::string::npos);
}

TEST(KernelReport, ShowsIntegersBeyondSixtyFourBitsWithoutAccident) {
  ListedKernel kernel = blur();
  kernel.parameters[1].minimum = -1e300;
  kernel.parameters[1].maximum = 1e300;
  EXPECT_NE(kernel_report(std::vector{kernel}).find("-1e+300 to 1e+300"), std::string::npos);
}

TEST(KernelReport, LetsNoTextActOnTheTerminal) {
  ListedKernel kernel = blur();
  kernel.summary = "\x1b[31mred\nlines";
  kernel.parameters[0].help = "\r";
  const std::string sut = kernel_report(std::vector{kernel, refused()});
  EXPECT_EQ(sut.find('\x1b'), std::string::npos);
  EXPECT_EQ(sut.find('\r'), std::string::npos);
  EXPECT_NE(sut.find("?[31mred?lines"), std::string::npos);
}

TEST(KernelReport, IsTheSameForPrograms) {
#if OVERLAP_HAVE_JSON
  ListedKernel kernel = blur();
  kernel.summary = "cut within \xc3";
  const std::string sut = kernel_report_json(std::vector{kernel, refused()});
  for (const char* const part :
       {"\"name\": \"blur\"", "\"stateful\": true", "\"needs_table\": true", "\"default\": 1.5",
        "\"default\": 1024", "\"default\": \"f32\"", "\"per_job\": true", "\"minimum\": 0.25",
        "\"file\": \"/k/x.so\"", "\"reason\": \"no entry\"", "cut within"}) {
    EXPECT_NE(sut.find(part), std::string::npos) << part << " in " << sut;
  }
#else
  GTEST_SKIP() << "this build has no JSON";
#endif
}

}  // namespace
}  // namespace overlap
