#include "tests/photo/picture.hpp"

#include <png.h>

#include <stdexcept>

namespace overlap::photo {
namespace {

/// The simplified interface of libpng 1.6, which needs no long jumps.
png_image described(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = picture.channels == 1   ? PNG_FORMAT_GRAY
                 : picture.channels == 3 ? PNG_FORMAT_RGB
                                         : PNG_FORMAT_RGBA;
  return image;
}

}  // namespace

void write_png(const std::string& path, const Picture& picture) {
  png_image image = described(picture);
  // 0: row by row without a gap, and nothing converted.
  if (png_image_write_to_file(&image, path.c_str(), 0, picture.samples.data(), 0, nullptr) == 0) {
    throw std::runtime_error("cannot write " + path + ": " + image.message);
  }
}

Picture read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0) {
    throw std::runtime_error("cannot read " + path + ": " + image.message);
  }
  Picture picture;
  picture.width = image.width;
  picture.height = image.height;
  picture.channels = (image.format & PNG_FORMAT_FLAG_COLOR) == 0   ? 1
                     : (image.format & PNG_FORMAT_FLAG_ALPHA) == 0 ? 3
                                                                   : 4;
  image.format = described(picture).format;
  picture.samples.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, picture.samples.data(), 0, nullptr) == 0) {
    throw std::runtime_error("cannot read " + path + ": " + image.message);
  }
  return picture;
}

}  // namespace overlap::photo
