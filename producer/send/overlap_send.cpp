// overlap-send: feeds a file, standard input or a generated pattern to the daemon.

#include "kernels/pipeline.hpp"
#include "producer/producer.hpp"
#include "producer/send/input_source.hpp"
#include "producer/send/output_sink.hpp"
#include "producer/send/progress_bar.hpp"
#include "producer/send/send_options.hpp"
#include "producer/send/send_report.hpp"
#include "producer/send/sender.hpp"
#include "producer/send/stop_request.hpp"
#include "producer/send/table_files.hpp"
#include "producer/send/unjudged_pipeline.hpp"
#include "shared/byte_size.hpp"

#include <unistd.h>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace overlap {
namespace {

enum ExitCode : int { kDone = 0, kFailed = 1, kMisuse = 2, kNoDaemon = 3, kNoFile = 4 };

void tell(const std::string& text) { std::cerr << "overlap-send: " << text << '\n'; }

std::unique_ptr<InputSource> open_input(const SendOptions& options, std::uint64_t slot_bytes) {
  if (options.reads_pattern()) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(options.count, slot_bytes, &bytes)) {
      throw UsageError("--count: that many jobs are more than 2^64 bytes");
    }
    return std::make_unique<PatternSource>(options.input_bytes.value_or(bytes));
  }
  auto file = options.input == "-" ? FileSource::standard_input() : FileSource::open(options.input);
  if (options.count > 1 && !file->pass_bytes()) {
    throw UsageError("--count: " + options.input + " can be read only once");
  }
  return file;
}

std::vector<TableContent> channel_tables(const std::vector<StageTable>& tables) {
  std::vector<TableContent> contents;
  for (const StageTable& table : tables) {
    contents.push_back({0, static_cast<std::uint8_t>(table.stage_index), table.bytes});
  }
  return contents;
}

std::optional<OutputSink> open_output(const SendOptions& options, const InputSource& source) {
  if (!options.output) {
    return std::nullopt;
  }
  OutputSink sink =
      *options.output == "-" ? OutputSink::standard_output() : OutputSink::open(*options.output);
  const auto* const file = dynamic_cast<const FileSource*>(&source);
  if (file != nullptr && file->is_same_file(sink.descriptor())) {
    throw UsageError("--output is the very file of --input; write elsewhere");
  }
  return sink;
}

int exit_code(const SendReport& report) {
  if (!report.failure.empty()) {
    return kFailed;
  }
  if (report.signal_number != 0) {
    return 128 + report.signal_number;
  }
  return report.surplus_bytes != 0 ? kMisuse : kDone;
}

int send(const SendOptions& options) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  const Pipeline pipeline = read_pipeline(options.kernel, kernels, options.verify);
  const std::vector<StageTable> tables = read_tables(options.tables, pipeline, kernels);
  const std::uint64_t slot_bytes = job_bytes(pipeline, options.slot_bytes);
  if (slot_bytes != options.slot_bytes && !options.quiet) {
    tell("a job has " + format_bytes(slot_bytes) + ", not " + format_bytes(options.slot_bytes) +
         ": that is what " + pipeline.text() + " takes");
  }
  const auto source = open_input(options, slot_bytes);
  if (const auto length_bytes = source->pass_bytes()) {
    check_length(pipeline, options.reads_pattern() ? "the pattern" : options.input, *length_bytes,
                 slot_bytes);
  }
  StopRequest stop;
  Producer producer({.socket_path = options.socket_path,
                     .pipelines = {pipeline.text()},
                     .slot_count = options.slot_count,
                     .input_bytes = slot_bytes,
                     .tables = channel_tables(tables),
                     .resume_timeout = options.resume_timeout});
  auto sink = open_output(options, *source);
  if (sink) {
    sink->begin();
  }
  std::optional<std::uint64_t> total_bytes = source->pass_bytes();
  if (total_bytes && !options.reads_pattern()) {
    total_bytes = *total_bytes * options.count;
  }
  SendReport report;
  {
    ProgressBar progress(total_bytes, options.quiet || options.json ? -1 : STDERR_FILENO);
    report = Sender(producer, pipeline, *source, sink ? &*sink : nullptr, stop, progress, options,
                    tables)
                 .run();
  }
  if (options.json) {
    std::cout << report_json(report) << std::flush;
  } else if (!options.quiet) {
    (options.output == "-" ? std::cerr : std::cout) << report_text(report) << std::flush;
  }
  if (report.surplus_bytes != 0) {
    tell("the last " + std::to_string(report.surplus_bytes) + " bytes of the input fit no job of " +
         pipeline.text() + " and were not sent");
  }
  if (!report.failure.empty()) {
    tell(report.failure);
  }
  return exit_code(report);
}

int run(const std::vector<std::string>& words) {
  try {
    const SendOptions options = read_send_options(words);
    if (options.help) {
      std::cout << send_help();
      return kDone;
    }
    return send(options);
  } catch (const UsageError& error) {
    tell(error.what());
    return kMisuse;
  } catch (const PipelineError& error) {
    tell(error.what());
    return kMisuse;
  } catch (const InvalidSubmission& error) {
    tell(error.what());
    return kMisuse;
  } catch (const ProducerError& error) {
    tell(error.what());
    return kNoDaemon;
  } catch (const std::exception& error) {
    tell(error.what());
    return kNoFile;
  }
}

}  // namespace
}  // namespace overlap

int main(int argc, char** argv) {
  // A reader of our output that goes is an error to report, not a reason to vanish.
  std::signal(SIGPIPE, SIG_IGN);
  return overlap::run(std::vector<std::string>(argv + 1, argv + argc));
}
