#include "daemon/source/source_kernels.hpp"

#include "daemon/source/trusted_file.hpp"
#include "kernels/parameter_text.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace overlap {
namespace {

constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20U;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void log_lines(spdlog::logger& log, spdlog::level::level_enum level, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    log.log(level, "{}", text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
}

SourceKernels::SourceKernels(std::vector<std::string> files,
                             std::unique_ptr<const SourceToolchain> toolchain, KernelCache cache,
                             KernelRegistry& registry, spdlog::logger& log)
    : toolchain_(std::move(toolchain)), cache_(std::move(cache)), registry_(registry), log_(log) {
  for (std::string& file : files) {
    sources_.push_back({std::move(file), {}, {}, nullptr});
  }
}

std::string SourceKernels::read(const std::string& file) const {
  TrustedText text = read_trusted_file(file, kMaxSourceBytes, LinkRule::follow);
  if (text.outcome != TrustedText::Outcome::read) {
    throw SourceError(file, 0, "this source kernel " + text.reason);
  }
  return std::move(text.text);
}

std::unique_ptr<const SourceCode> SourceKernels::code_of(const SourceProgram& program) const {
  const std::string key =
      program.text + '\0' + program.entry + '\0' + toolchain_->identity(program);
  if (const auto found = cache_.find(key)) {
    try {
      auto code = toolchain_->load(*found, program.shape);
      log_.info("source kernel {}: found in the cache", program.file);
      log_lines(log_, spdlog::level::warn, found->log);
      return code;
    } catch (const std::exception& error) {
      log_.warn("source kernel {}: the GPU does not take what the cache has, compiling anew: {}",
                program.file, error.what());
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const CompiledSource compiled = toolchain_->compile(program);
  const auto took = std::chrono::steady_clock::now() - begin;
  log_lines(log_, spdlog::level::warn, compiled.log);
  std::unique_ptr<const SourceCode> code;
  try {
    code = toolchain_->load(compiled, program.shape);
  } catch (const std::exception& error) {
    throw SourceError(program.file, 0, std::string("the GPU does not take it: ") + error.what());
  }
  log_.info("source kernel {}: compiled in {} ms", program.file,
            std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  // Only what the GPU took: a bad entry would be found again and again.
  cache_.store(key, compiled);
  return code;
}

std::unique_ptr<SourceKernel> SourceKernels::make(SourceDeclaration declaration,
                                                  const std::string& text,
                                                  const Kernel* host) const {
  if (host != nullptr) {
    if (const auto reason = why_not_joined(declaration, *host)) {
      throw SourceError(declaration.file, 0, *reason);
    }
  }
  std::unique_ptr<const SourceCode> code;
  if (toolchain_ != nullptr) {
    code = code_of(make_program(declaration, text));
  }
  return std::make_unique<SourceKernel>(std::move(declaration), std::move(code), host);
}

void SourceKernels::load() {
  for (Source& source : sources_) {
    source.text = read(source.file);
    SourceDeclaration declaration = parse_declaration(source.text, source.file);
    source.kernel_name = declaration.name;
    source.host = registry_.find(declaration.name);
    const bool is_ours = source.host != nullptr && (source.host->origin() == "built-in" ||
                                                    dynamic_cast<const SourceKernel*>(source.host));
    if (is_ours) {
      throw SourceError(source.file, 0,
                        "kernel name '" + declaration.name + "' is taken (" +
                            std::string(source.host->origin()) + "); choose another");
    }
    auto kernel = make(std::move(declaration), source.text, source.host);
    log_.info("kernel '{}' from {}: {}{}", kernel->name(), source.file, kernel->summary(),
              kernel->has_cuda()   ? ""
              : kernel->has_host() ? " (on the host, as there is no GPU)"
                                   : " (not compiled, as there is no GPU: refused at the attach)");
    registry_.replace(std::move(kernel));
  }
}

SourceKernels::Rebuilt SourceKernels::rebuilt(const Source& source) const {
  Rebuilt result;
  try {
    result.text = read(source.file);
    if (result.text == source.text) {
      return result;
    }
    SourceDeclaration declaration = parse_declaration(result.text, source.file);
    if (declaration.name != source.kernel_name) {
      throw SourceError(source.file, 0,
                        "declares kernel '" + declaration.name + "' where it declared '" +
                            source.kernel_name + "': a new name needs a restart");
    }
    result.kernel = make(std::move(declaration), result.text, source.host);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

void SourceKernels::rebuild() noexcept {
  rebuilt_.clear();
  for (const Source& source : sources_) {
    rebuilt_.push_back(rebuilt(source));
  }
}

void SourceKernels::apply() {
  for (std::size_t index = 0; index < rebuilt_.size(); ++index) {
    Source& source = sources_[index];
    Rebuilt& made = rebuilt_[index];
    if (!made.error.empty()) {
      log_lines(log_, spdlog::level::err, made.error);
      log_.error("reload: kernel '{}' stays as it was: {} gives no new one", source.kernel_name,
                 source.file);
      registry_.add_refused({source.file, first_line(made.error)});
      continue;
    }
    registry_.forget_refused(source.file);
    if (made.kernel == nullptr) {
      log_.info("reload: {} has not changed", source.file);
      continue;
    }
    registry_.replace(std::move(made.kernel));
    source.text = std::move(made.text);
    log_.info("reload: kernel '{}' is now as {} has it, for channels that attach from now on",
              source.kernel_name, source.file);
  }
  rebuilt_.clear();
}

}  // namespace overlap
