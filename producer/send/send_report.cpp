#include "producer/send/send_report.hpp"

#include "producer/send/send_options.hpp"
#include "shared/byte_size.hpp"

#if OVERLAP_HAVE_JSON
#include <nlohmann/json.hpp>
#endif

#include <unistd.h>
#include <iomanip>
#include <sstream>

namespace overlap {
namespace {

double microseconds(std::uint64_t duration_ns) { return static_cast<double>(duration_ns) / 1e3; }

std::string producer_name() { return "pid " + std::to_string(::getpid()); }

}  // namespace

std::string report_text(const SendReport& report) {
  std::ostringstream text;
  text << std::fixed << report.kernel << " on " << report.backend << ": " << report.jobs
       << " jobs, " << format_bytes(report.input_bytes) << " in, "
       << format_bytes(report.output_bytes) << " out\n"
       << std::setprecision(3) << report.seconds << " s, " << report.gigabytes_per_second()
       << " GB/s, " << std::setprecision(0) << report.jobs_per_second() << " jobs/s\n"
       << std::setprecision(1) << "latency p50 " << microseconds(report.latency.quantile_ns(0.50))
       << " us, p99 " << microseconds(report.latency.quantile_ns(0.99)) << " us\n";
  if (report.verified) {
    text << (*report.verified ? "verified: every result is right\n"
                              : "verified: NOT every result is right\n");
  }
  if (report.resume_count != 0) {
    text << "the daemon went and came back " << report.resume_count << " times\n";
  }
  return text.str();
}

std::string report_json(const SendReport& report) {
#if OVERLAP_HAVE_JSON
  nlohmann::ordered_json json;
  json["producer"] = producer_name();
  json["kernel"] = report.kernel;
  json["backend"] = report.backend;
  json["input_bytes"] = report.input_bytes;
  json["output_bytes"] = report.output_bytes;
  json["jobs"] = report.jobs;
  json["seconds"] = report.seconds;
  json["gigabytes_per_second"] = report.gigabytes_per_second();
  json["jobs_per_second"] = report.jobs_per_second();
  json["latency_p50_us"] = microseconds(report.latency.quantile_ns(0.50));
  json["latency_p99_us"] = microseconds(report.latency.quantile_ns(0.99));
  json["verified"] = report.verified ? nlohmann::ordered_json(*report.verified) : nullptr;
  return json.dump() + "\n";
#else
  throw UsageError("this build of " + producer_name() + " has no JSON, for " + report.kernel);
#endif
}

}  // namespace overlap
