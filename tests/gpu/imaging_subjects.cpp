#include "tests/gpu/kernel_subjects.hpp"

#include <utility>

namespace overlap::test {
namespace {

struct Shape {
  std::size_t width;
  std::size_t height;
  std::size_t channels;

  [[nodiscard]] std::size_t bytes() const { return width * height * channels; }
  [[nodiscard]] std::string text(const std::string& kernel) const {
    return kernel + ":width=" + std::to_string(width) + ",height=" + std::to_string(height) +
           ",channels=" + std::to_string(channels);
  }
};

/// Narrower, as wide and wider than a tile of 256 bytes x 64 rows; rows that are whole vectors of 16
/// bytes, whole words, and neither.
constexpr Shape kShapes[] = {{1, 1, 1},    {2, 3, 1},    {5, 2, 1},    {16, 65, 1},  {255, 3, 1},
                             {256, 64, 1}, {257, 66, 1}, {300, 70, 1}, {512, 30, 1}, {640, 130, 1},
                             {1, 700, 1},  {700, 1, 1},  {1, 1, 3},    {7, 5, 3},    {85, 64, 3},
                             {86, 65, 3},  {96, 100, 3}, {176, 20, 3}, {3, 2, 4},    {64, 64, 4},
                             {65, 66, 4},  {129, 70, 4}, {1000, 3, 4}};
constexpr const char* kBorders[] = {"reflect101", "reflect", "replicate", "zero"};

void add_grayscale(std::vector<KernelSubject>& all) {
  for (const Shape& shape : {Shape{1, 1, 3}, Shape{1, 1, 4}, Shape{33, 7, 3}, Shape{33, 7, 4}}) {
    for (const char* const weights : {"bt601", "bt709"}) {
      all.push_back(
          {shape.text("grayscale") + ",weights=" + weights, ElementKind::u8, shape.bytes()});
    }
  }
}

void add_lut(std::vector<KernelSubject>& all) {
  for (const std::size_t channels : {1U, 3U, 4U}) {
    for (const bool per_channel : {false, true}) {
      const std::size_t tables = per_channel ? channels : 1;
      all.push_back({"lut:channels=" + std::to_string(channels) +
                         (per_channel ? ",per_channel=yes" : ",per_channel=no"),
                     ElementKind::u8, channels, awkward_input(ElementKind::u8, 256 * tables, 99)});
    }
  }
}

void add_sobel(std::vector<KernelSubject>& all) {
  for (const Shape& shape : kShapes) {
    if (shape.channels == 1) {
      for (const char* const border : kBorders) {
        for (const char* const output : {"magnitude", "x", "y"}) {
          all.push_back({shape.text("sobel") + ",border=" + border + ",output=" + output,
                         ElementKind::u8, shape.bytes()});
        }
      }
    }
  }
}

/// Radius 1, 3, 5, 8 in one launch and 9, 15, 30 in two; the borders in turn. Then the largest.
void add_gaussian_blur(std::vector<KernelSubject>& all) {
  std::size_t turn = 0;
  for (const Shape& shape : kShapes) {
    for (const char* const sigma : {"0.1", "1", "1.5", "2.6", "2.7", "5", "10"}) {
      all.push_back({shape.text("gaussian_blur") + ",sigma=" + sigma +
                         ",border=" + kBorders[turn++ % std::size(kBorders)],
                     ElementKind::u8, shape.bytes()});
      all.back().most_elements = 60'000;
    }
  }
  for (const Shape& shape : {Shape{65, 66, 4}, Shape{300, 70, 1}, Shape{3, 2, 4}, Shape{86, 65, 3},
                             Shape{640, 130, 1}, Shape{40, 401, 1}}) {
    for (const char* const border : kBorders) {
      all.push_back({shape.text("gaussian_blur") + ",sigma=50,border=" + border, ElementKind::u8,
                     shape.bytes()});
      all.back().most_elements = 60'000;
    }
  }
}

void add_resize(std::vector<KernelSubject>& all) {
  const std::pair<std::size_t, std::size_t> results[] = {
      {1, 1}, {2, 3}, {31, 17}, {128, 128}, {129, 60}, {300, 129}, {9, 200}};
  std::size_t turn = 0;
  for (const Shape& shape : kShapes) {
    for (const int step : {0, 1}) {
      const auto& [width, height] =
          results[(turn + static_cast<std::size_t>(step) * 3) % std::size(results)];
      all.push_back({shape.text("resize") + ",out_width=" + std::to_string(width) +
                         ",out_height=" + std::to_string(height),
                     ElementKind::u8, shape.bytes()});
      // As many as make a result of some 600,000.
      all.back().most_elements = 600'000 * shape.bytes() / (width * height * shape.channels);
    }
    ++turn;
  }
}

}  // namespace

std::vector<KernelSubject> imaging_subjects() {
  std::vector<KernelSubject> all;
  add_grayscale(all);
  add_lut(all);
  add_sobel(all);
  add_gaussian_blur(all);
  add_resize(all);
  return all;
}

}  // namespace overlap::test
