#include "shared/kernel_list.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace overlap {
namespace {

/// Texts one behind the other, each with a zero byte behind it; there is room for all those zeros.
class TextWriter {
 public:
  TextWriter(KernelListReply& reply, std::size_t text_count)
      : reply_(reply), terminators_left_(text_count) {}

  void write(std::string_view text) {
    // A zero inside would end the text, and shift all those behind it.
    text = text.substr(0, text.find('\0'));
    const std::size_t room = sizeof reply_.text - used_ - terminators_left_;
    const std::size_t bytes = std::min(text.size(), room);
    std::copy_n(text.data(), bytes, reply_.text + used_);
    used_ += bytes + 1;
    --terminators_left_;
    reply_.text_bytes = static_cast<std::uint32_t>(used_);
  }

 private:
  KernelListReply& reply_;
  std::size_t terminators_left_;
  std::size_t used_ = 0;
};

class TextReader {
 public:
  explicit TextReader(const KernelListReply& reply)
      : rest_(reply.text, std::min<std::size_t>(reply.text_bytes, sizeof reply.text)) {}

  /// @return false if there is no further text
  bool read(std::string& text) {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) {
      return false;
    }
    text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

constexpr std::size_t kKernelTexts = 4;
constexpr std::size_t kParameterTexts = 3;
static_assert(kKernelTexts + kMaxListedParameters * (kParameterTexts + kMaxListedChoices) <
              sizeof(KernelListReply::text));

std::size_t listed_choices(const ListedParameter& parameter) {
  return std::min(parameter.choices.size(), kMaxListedChoices);
}

}  // namespace

void write_listed(KernelListReply& reply, const ListedKernel& listed) {
  const std::size_t count = std::min(listed.parameters.size(), kMaxListedParameters);
  reply.kind = listed.kind;
  reply.flags = listed.flags;
  reply.parameter_count = static_cast<std::uint32_t>(count);
  std::size_t text_count = kKernelTexts + count * kParameterTexts;
  for (std::size_t i = 0; i < count; ++i) {
    const ListedParameter& parameter = listed.parameters[i];
    reply.parameters[i] = {parameter.type,
                           parameter.per_job ? kListedPerJob : 0,
                           static_cast<std::uint32_t>(listed_choices(parameter)),
                           0,
                           parameter.default_value,
                           parameter.minimum,
                           parameter.maximum};
    text_count += listed_choices(parameter);
  }
  TextWriter texts(reply, text_count);
  texts.write(listed.name);
  texts.write(listed.origin);
  texts.write(listed.summary);
  // Names first, so that help is what is cut.
  for (std::size_t i = 0; i < count; ++i) {
    const ListedParameter& parameter = listed.parameters[i];
    texts.write(parameter.name);
    texts.write(parameter.unit);
    for (std::size_t choice = 0; choice < listed_choices(parameter); ++choice) {
      texts.write(parameter.choices[choice]);
    }
  }
  texts.write(listed.table_help);
  for (std::size_t i = 0; i < count; ++i) {
    texts.write(listed.parameters[i].help);
  }
}

std::optional<ListedKernel> read_listed(const KernelListReply& reply) {
  if (reply.kind > ListedKind::refused || reply.parameter_count > kMaxListedParameters ||
      reply.text_bytes > sizeof reply.text) {
    return std::nullopt;
  }
  ListedKernel listed;
  listed.kind = reply.kind;
  listed.flags = reply.flags;
  TextReader texts(reply);
  bool complete =
      texts.read(listed.name) && texts.read(listed.origin) && texts.read(listed.summary);
  for (std::size_t i = 0; i < reply.parameter_count; ++i) {
    const ListedParameterEntry& entry = reply.parameters[i];
    if (entry.type > ListedType::choice || entry.choice_count > kMaxListedChoices) {
      return std::nullopt;
    }
    ListedParameter& parameter = listed.parameters.emplace_back();
    parameter.type = entry.type;
    parameter.per_job = (entry.flags & kListedPerJob) != 0;
    parameter.default_value = entry.default_value;
    parameter.minimum = entry.minimum;
    parameter.maximum = entry.maximum;
    complete = complete && texts.read(parameter.name) && texts.read(parameter.unit);
    for (std::uint32_t choice = 0; complete && choice < entry.choice_count; ++choice) {
      complete = texts.read(parameter.choices.emplace_back());
    }
  }
  complete = complete && texts.read(listed.table_help);
  for (ListedParameter& parameter : listed.parameters) {
    complete = complete && texts.read(parameter.help);
    complete = complete && (parameter.type != ListedType::choice ||
                            parameter.default_value.choice_index < parameter.choices.size());
  }
  return complete && texts.at_end() ? std::optional(std::move(listed)) : std::nullopt;
}

}  // namespace overlap
