// overlap-photo: paints a photograph, sends it through the daemon, and writes both as PNG.
//
// Exit status: 0 done, 1 the job or a file failed, 2 it cannot be used this way, 3 no daemon.

#include "kernels/pipeline.hpp"
#include "producer/producer.hpp"
#include "tests/photo/picture.hpp"
#include "tests/photo/scene.hpp"
#include "tests/photo/stage_shapes.hpp"

#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

namespace overlap::photo {
namespace {

enum ExitCode : int { kDone = 0, kFailed = 1, kMisuse = 2, kNoDaemon = 3 };

struct Options {
  std::optional<std::string> socket;
  std::uint32_t width = 1920;
  std::uint32_t height = 1280;
  std::string pipeline;
  std::string input = "photo-input.png";
  std::string output = "photo-output.png";
};

boost::program_options::options_description described() {
  namespace po = boost::program_options;
  po::options_description all(
      "Usage: overlap-photo [OPTION]...\n"
      "Paints a photograph, sends it through overlapd and writes both as PNG.\n\nOptions");
  auto add = all.add_options();
  add("help", "this text");
  add("socket", po::value<std::string>(),
      "the daemon's socket; as overlap-send finds it by default");
  add("width", po::value<std::uint32_t>(), "pixels across, 1 to 65535 (1920)");
  add("height", po::value<std::uint32_t>(), "pixels down, 1 to 65535 (1280)");
  add("pipeline", po::value<std::string>(),
      "for RGB of that size (its edges: grayscale, gaussian_blur, sobel)");
  add("input", po::value<std::string>(), "where the photograph goes (photo-input.png)");
  add("output", po::value<std::string>(), "where the result goes (photo-output.png)");
  return all;
}

std::uint32_t checked_side(const char* name, std::uint32_t pixels) {
  if (pixels < 1 || pixels > 65'535) {
    throw std::invalid_argument(std::string(name) + ": " + std::to_string(pixels) +
                                " pixels are not 1 to 65535");
  }
  return pixels;
}

/// Empty if help was asked for.
std::optional<Options> read_options(int argc, const char* const* argv) {
  namespace po = boost::program_options;
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, described()), given);
  if (given.count("help") != 0) {
    return std::nullopt;
  }
  Options options;
  const auto take = [&given](const char* name, auto& into) {
    using Value = std::decay_t<decltype(into)>;
    if (given.count(name) != 0) {
      into = given[name].as<Value>();
    }
  };
  if (given.count("socket") != 0) {
    options.socket = given["socket"].as<std::string>();
  }
  take("width", options.width);
  take("height", options.height);
  take("pipeline", options.pipeline);
  take("input", options.input);
  take("output", options.output);
  checked_side("--width", options.width);
  checked_side("--height", options.height);
  if (options.pipeline.empty()) {
    options.pipeline = edges_of_rgb(options.width, options.height);
  }
  return options;
}

int run(const Options& options) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  const Pipeline pipeline = Pipeline::parse(options.pipeline, kernels);
  Picture result = picture_after(pipeline, options.width, options.height);
  const Picture photograph = paint_scene(options.width, options.height);
  write_png(options.input, photograph);

  Producer producer({.socket_path = options.socket,
                     .pipelines = {pipeline.text()},
                     .slot_count = 1,
                     .input_bytes = photograph.samples.size()});
  Slot slot = producer.acquire();
  std::copy(photograph.samples.begin(), photograph.samples.end(), slot.input().begin());
  producer.submit(std::move(slot), 0, {.input_bytes = photograph.samples.size()});
  const Result job = producer.wait_next();
  if (!job.ok()) {
    throw std::runtime_error("the job failed: " + job.status_text());
  }
  const auto output = job.output();
  if (output.size() != result.samples.size()) {
    throw std::runtime_error("the daemon gave " + std::to_string(output.size()) +
                             " bytes instead of " + std::to_string(result.samples.size()));
  }
  std::copy(output.begin(), output.end(), result.samples.begin());
  write_png(options.output, result);
  std::cout << options.input << ": " << photograph.width << " x " << photograph.height << ", "
            << photograph.channels << " channels\n"
            << options.output << ": " << result.width << " x " << result.height << ", "
            << result.channels << " channels, by " << producer.backend() << "\n";
  return kDone;
}

int tell(int code, const std::exception& error) {
  std::cerr << "overlap-photo: " << error.what() << "\n";
  return code;
}

}  // namespace
}  // namespace overlap::photo

int main(int argc, char** argv) {
  using namespace overlap::photo;
  try {
    const auto options = read_options(argc, argv);
    if (!options) {
      std::cout << described();
      return kDone;
    }
    return run(*options);
  } catch (const boost::program_options::error& error) {
    return tell(kMisuse, error);
  } catch (const std::invalid_argument& error) {
    return tell(kMisuse, error);
  } catch (const overlap::PipelineError& error) {
    return tell(kMisuse, error);
  } catch (const overlap::ProducerError& error) {
    return tell(kNoDaemon, error);
  } catch (const std::exception& error) {
    return tell(kFailed, error);
  }
}
