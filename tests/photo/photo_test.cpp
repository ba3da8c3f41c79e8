// The photograph through a real daemon, against the references; and the parts of overlap-photo.

#include "tests/photo/picture.hpp"
#include "tests/photo/scene.hpp"
#include "tests/photo/stage_shapes.hpp"
#include "tests/process/process_test.hpp"
#include "tests/unit/says.hpp"

#include <stdexcept>

namespace overlap::testing {
namespace {

using photo::Picture;

const KernelRegistry& kernels() {
  static const KernelRegistry kRegistry = KernelRegistry::with_builtin_kernels();
  return kRegistry;
}

struct Photo : ProcessTest {
  [[nodiscard]] Finished photograph(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {program_path("overlap-photo"), "--socket", socket_path(), "--input",
                      path("input.png"), "--output", path("output.png")});
    return run({.command = std::move(arguments)});
  }

  /// What the program wrote is the scene, and what the pipeline's references make of it.
  void expect_right(const std::string& pipeline, std::uint32_t width, std::uint32_t height) const {
    const Picture scene = photo::paint_scene(width, height);
    EXPECT_EQ(photo::read_png(path("input.png")), scene);
    const Pipeline reference = Pipeline::parse(pipeline, kernels());
    Picture expected = photo::picture_after(reference, width, height);
    expected.samples = reference.reference(scene.samples);
    const Picture got = photo::read_png(path("output.png"));
    EXPECT_EQ(got.width, expected.width);
    EXPECT_EQ(got.height, expected.height);
    EXPECT_EQ(got.channels, expected.channels);
    EXPECT_TRUE(got.samples == expected.samples) << pipeline;
  }
};

TEST_F(Photo, HasTheEdgesThatTheReferencesFind) {
  DaemonProcess daemon = start_daemon();
  const std::uint32_t width = kSanitized ? 240 : 1920;
  const std::uint32_t height = kSanitized ? 160 : 1280;
  const Finished sut =
      photograph({"--width", std::to_string(width), "--height", std::to_string(height)});
  ASSERT_EQ(sut.exit_code, 0) << sut.errors;
  EXPECT_TRUE(says(sut.output, {"3 channels", "1 channels, by host"}));
  expect_right(photo::edges_of_rgb(width, height), width, height);
}

TEST_F(Photo, GoesThroughAnyPipelineOfImagingKernels) {
  DaemonProcess daemon = start_daemon();
  const std::string colours =
      "gaussian_blur:width=121,height=83,channels=3,sigma=3|"
      "resize:width=121,height=83,channels=3,out_width=200,out_height=50";
  ASSERT_EQ(photograph({"--width", "121", "--height", "83", "--pipeline", colours}).exit_code, 0);
  expect_right(colours, 121, 83);
}

TEST_F(Photo, SaysWhatIsWrong) {
  const Finished other_size = photograph({"--pipeline", "grayscale:width=100,height=100"});
  EXPECT_EQ(other_size.exit_code, 2);
  EXPECT_TRUE(says(other_size.errors, {"overlap-photo: ", "frame of 100 x 100 pixels"}));
  const Finished no_side = photograph({"--width", "0"});
  EXPECT_EQ(no_side.exit_code, 2);
  EXPECT_TRUE(says(no_side.errors, {"--width", "1 to 65535"}));
  EXPECT_EQ(photograph({"--pipeline", "blur"}).exit_code, 2);
  EXPECT_EQ(photograph({"--colour", "red"}).exit_code, 2);
  EXPECT_EQ(photograph({"--width", "30", "--height", "20"}).exit_code, 3) << "without a daemon";
}

TEST_F(Photo, IsReadAsItWasWritten) {
  for (const std::uint32_t channels : {1U, 3U, 4U}) {
    Picture sut{5, 3, channels, {}};
    for (std::uint32_t at = 0; at < 15 * channels; ++at) {
      sut.samples.push_back(static_cast<std::byte>(at * 17 + 1));
    }
    photo::write_png(path("some.png"), sut);
    EXPECT_EQ(photo::read_png(path("some.png")), sut) << channels;
  }
  EXPECT_THROW((void)photo::read_png(path("none.png")), std::runtime_error);
  EXPECT_THROW(photo::write_png(path("no/folder.png"), {1, 1, 1, {std::byte{1}}}),
               std::runtime_error);
}

TEST(PhotoScene, HasSkyAboveGroundAndASphereBetween) {
  const Picture sut = photo::paint_scene(90, 60);
  ASSERT_EQ(sut.samples.size(), 90U * 60 * 3);
  const auto at = [&sut](std::size_t x, std::size_t y, std::size_t channel) {
    return std::to_integer<int>(sut.samples[(y * 90 + x) * 3 + channel]);
  };
  EXPECT_GT(at(5, 2, 2), at(5, 2, 0)) << "the sky is blue";
  EXPECT_GT(at(36, 40, 0), 2 * at(36, 40, 2)) << "the sphere is red";
  EXPECT_GT(at(72, 10, 0), 230) << "the sun is white";
}

TEST(PhotoScene, IsTheSameEveryTime) {
  EXPECT_EQ(photo::paint_scene(33, 21), photo::paint_scene(33, 21));
}

}  // namespace
}  // namespace overlap::testing
