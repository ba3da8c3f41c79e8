#include "tests/photo/scene.hpp"

#include <algorithm>
#include <cmath>

namespace overlap::photo {
namespace {

// Across from 0 at the left to the picture's aspect ratio, down from 0 to 1.

struct Colour {
  double red;
  double green;
  double blue;
};

Colour operator+(Colour a, Colour b) { return {a.red + b.red, a.green + b.green, a.blue + b.blue}; }
Colour operator*(Colour colour, double factor) {
  return {colour.red * factor, colour.green * factor, colour.blue * factor};
}
Colour mix(Colour a, Colour b, double share) { return a * (1 - share) + b * share; }

/// 0 below `low`, 1 above `high`, smooth between.
double step(double low, double high, double x) {
  const double t = std::clamp((x - low) / (high - low), 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

double squared(double x) { return x * x; }

/// Bits that follow no pattern, as a number from 0 to 1.
double hashed(std::int64_t x, std::int64_t y, std::uint64_t seed) {
  std::uint64_t bits = static_cast<std::uint64_t>(x) * 0x9e3779b97f4a7c15U ^
                       static_cast<std::uint64_t>(y) * 0xc2b2ae3d27d4eb4fU ^
                       seed * 0x165667b19e3779f9U;
  for (int round = 0; round < 2; ++round) {
    bits ^= bits >> 31U;
    bits *= 0xbf58476d1ce4e5b9U;
  }
  return static_cast<double>((bits ^ (bits >> 29U)) & 0xffffffU) / 0xffffff;
}

/// Smooth noise with features of size 1, 0 to 1.
double noise(double x, double y, std::uint64_t seed) {
  const double left = std::floor(x);
  const double top = std::floor(y);
  const auto column = static_cast<std::int64_t>(left);
  const auto row = static_cast<std::int64_t>(top);
  const double right_share = step(0, 1, x - left);
  const double bottom_share = step(0, 1, y - top);
  const double above =
      hashed(column, row, seed) * (1 - right_share) + hashed(column + 1, row, seed) * right_share;
  const double below = hashed(column, row + 1, seed) * (1 - right_share) +
                       hashed(column + 1, row + 1, seed) * right_share;
  return above * (1 - bottom_share) + below * bottom_share;
}

/// Noise on noise, each half as large and half as strong; about 0 to 1.
double rough(double x, double y, std::uint64_t seed, int octaves) {
  double sum = 0;
  double strength = 0.5;
  for (int octave = 0; octave < octaves; ++octave) {
    sum += strength * noise(x, y, seed + static_cast<std::uint64_t>(octave));
    x = 2 * x + 17;
    y = 2 * y + 31;
    strength /= 2;
  }
  return sum;
}

constexpr double kHorizon = 0.60;
constexpr double kSunDown = 0.17;
constexpr double kSphereDown = 0.70;
constexpr double kSphereRadius = 0.16;

/// Where things are across depends on how wide the picture is.
class Scene {
 public:
  explicit Scene(double aspect) : sun_(0.80 * aspect), sphere_(0.40 * aspect) {}

  [[nodiscard]] Colour at(double x, double y) const {
    const double from_sphere =
        std::sqrt(squared(x - sphere_) + squared(y - kSphereDown)) / kSphereRadius;
    if (from_sphere < 1) {
      return sphere_at((x - sphere_) / kSphereRadius, (y - kSphereDown) / kSphereRadius);
    }
    return y < kHorizon ? distance_at(x, y) : ground_at(x, y);
  }

 private:
  [[nodiscard]] Colour sky_at(double x, double y) const {
    const Colour high{0.16, 0.36, 0.72};
    const Colour low{0.78, 0.86, 0.93};
    const Colour sunlight{1.00, 0.93, 0.76};
    Colour colour = mix(high, low, std::sqrt(std::clamp(y / kHorizon, 0.0, 1.0)));
    const double cloud = step(0.47, 0.70, rough(2.2 * x, 6.5 * y, 11, 6)) * step(0.0, 0.12, y);
    const double shade = rough(2.2 * x + 0.12, 6.5 * y - 0.20, 11, 4);
    colour = mix(colour, mix({0.97, 0.96, 0.95}, {0.62, 0.66, 0.73}, step(0.45, 0.75, shade)),
                 0.85 * cloud);
    const double from_sun = std::sqrt(squared(x - sun_) + squared(y - kSunDown));
    colour = colour + sunlight * (0.012 / (0.02 + squared(from_sun) * 6));
    return mix(colour, {6, 5.8, 4.6}, step(0.050, 0.044, from_sun));
  }

  /// Sky, and before it three rows of hills, the nearer the darker.
  [[nodiscard]] Colour distance_at(double x, double y) const {
    struct Ridge {
      double height;
      double roughness;
      double scale;
      double woods;
      Colour colour;
    };
    constexpr Ridge kRidges[] = {{0.46, 0.13, 1.6, 0.15, {0.55, 0.65, 0.76}},
                                 {0.50, 0.11, 2.9, 0.40, {0.36, 0.49, 0.50}},
                                 {0.55, 0.07, 5.0, 0.90, {0.20, 0.33, 0.19}}};
    Colour colour = sky_at(x, y);
    std::uint64_t seed = 40;
    for (const Ridge& ridge : kRidges) {
      const double top =
          ridge.height + ridge.roughness * (0.5 - rough(ridge.scale * x, 0, seed, 6));
      if (y > top) {
        const double woods = rough(60 * x, 110 * y, seed + 100, 4) - 0.47;
        const double haze = 0.25 * step(top, kHorizon, y);
        colour = mix(ridge.colour * (1 + ridge.woods * woods), {0.80, 0.84, 0.84}, haze);
      }
      seed += 10;
    }
    return colour;
  }

  /// Slabs in perspective, with grass in the joints and the sphere's shadow.
  [[nodiscard]] Colour ground_at(double x, double y) const {
    const double depth = 0.30 / (y - kHorizon + 0.02);
    const double along = (x - sphere_ - 0.2) * depth * 2.2;
    const double away = depth * 3;
    const double row = std::floor(away);
    const double shifted = along + (std::fmod(row, 2) == 0 ? 0.5 : 0.0);
    const double column = std::floor(shifted);
    const double joint =
        std::min({shifted - column, column + 1 - shifted, (away - row) * 1.0, row + 1 - away});
    const double tone =
        0.75 + 0.35 * hashed(static_cast<std::int64_t>(column), static_cast<std::int64_t>(row), 7);
    const double grain = 0.80 + 0.40 * rough(12 * along, 12 * away, 21, 5);
    const Colour stone = Colour{0.60, 0.54, 0.46} * (tone * grain);
    const Colour grass =
        Colour{0.22, 0.34, 0.12} * (0.6 + 0.9 * rough(30 * along, 30 * away, 31, 3));
    // Far away a joint is thinner than a pixel.
    Colour colour = mix(grass, stone, std::max(step(0.02, 0.07, joint), step(2.5, 7.0, depth)));
    colour = mix(colour, {0.70, 0.74, 0.70}, 0.7 * step(3.0, 14.0, depth));
    // The sun is behind and to the right: the shadow comes forward and to the left.
    const double shadow_x = (x - (sphere_ - 0.13)) / 0.27;
    const double shadow_y = (y - (kSphereDown + 0.165)) / 0.058;
    const double shadow =
        step(1.15, 0.75, std::sqrt(squared(shadow_x + 0.25 * shadow_y) + squared(shadow_y)));
    return colour * (1 - 0.68 * shadow);
  }

  /// @param x, y from -1 to 1, on the disc
  [[nodiscard]] static Colour sphere_at(double x, double y) {
    const double z = std::sqrt(std::max(0.0, 1 - x * x - y * y));
    // To the light: right, up, a little towards us; its length is 1.
    constexpr double kRight = 0.60;
    constexpr double kUp = 0.64;
    const double towards = std::sqrt(1 - kRight * kRight - kUp * kUp);
    const double light = x * kRight - y * kUp + z * towards;
    const Colour paint{0.78, 0.16, 0.10};
    const Colour from_sky = mix({0.22, 0.17, 0.12}, {0.30, 0.38, 0.52}, step(0.6, -0.6, y));
    Colour colour = paint * (0.95 * std::max(0.0, light));
    colour = colour + Colour{paint.red * from_sky.red, paint.green * from_sky.green,
                             paint.blue * from_sky.blue} *
                          0.9;
    // Half-way between the light and the eye, to the 64th: a small bright spot.
    const double length = std::sqrt(2 + 2 * towards);
    double spot = std::max(0.0, (x * kRight - y * kUp + z * (towards + 1)) / length);
    for (int power = 0; power < 6; ++power) {
      spot *= spot;
    }
    const double rim = squared(squared(1 - z));
    return mix(colour + Colour{1, 0.97, 0.90} * (0.9 * spot), from_sky, 0.55 * rim);
  }

  double sun_;
  double sphere_;
};

std::byte exposed(double light, double grain) {
  // Brighter than white fades gently; a camera's noise is larger than a step of its levels.
  const double level = light < 0.8 ? light : 0.8 + 0.2 * (light - 0.8) / (light - 0.6);
  return static_cast<std::byte>(std::clamp(255 * level + 5 * (grain - 0.5) + 0.5, 0.0, 255.0));
}

}  // namespace

Picture paint_scene(std::uint32_t width, std::uint32_t height) {
  constexpr int kSamples = 2;  // each way, so that edges are smooth
  const double aspect = static_cast<double>(width) / height;
  const Scene scene(aspect);
  Picture picture{width, height, 3, {}};
  picture.samples.reserve(std::size_t{3} * width * height);
  for (std::uint32_t row = 0; row < height; ++row) {
    for (std::uint32_t column = 0; column < width; ++column) {
      Colour sum{0, 0, 0};
      for (int sample = 0; sample < kSamples * kSamples; ++sample) {
        const double x = column + (0.5 + sample % kSamples) / kSamples;
        const double y = row + (0.5 + sample / kSamples) / kSamples;
        sum = sum + scene.at(x / height, y / height);
      }
      const double off_axis =
          squared((column + 0.5) / width - 0.5) + squared((row + 0.5) / height - 0.5);
      const Colour colour = sum * ((1 - 0.35 * off_axis) / (kSamples * kSamples));
      picture.samples.push_back(exposed(colour.red, hashed(column, row, 1)));
      picture.samples.push_back(exposed(colour.green, hashed(column, row, 2)));
      picture.samples.push_back(exposed(colour.blue, hashed(column, row, 3)));
    }
  }
  return picture;
}

}  // namespace overlap::photo
