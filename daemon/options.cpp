#include "daemon/options.hpp"

#include "daemon/option_table.hpp"
#include "daemon/option_value.hpp"

#include <boost/program_options/cmdline.hpp>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace overlap {
namespace {

namespace po = boost::program_options;

constexpr unsigned kHelpColumns = 100;

po::options_description settings_description() {
  po::options_description description("Settings, here or in the file as 'name = value'",
                                      kHelpColumns);
  for (const OptionSetting& setting : option_table()) {
    auto* const value = po::value<std::string>()->value_name("VALUE");
    if (*setting.default_text != '\0') {
      value->default_value(setting.default_text);
    }
    description.add_options()(setting.name, value, setting.help);
  }
  return description;
}

po::options_description command_description() {
  po::options_description description("Command line only", kHelpColumns);
  description.add_options()("config", po::value<std::string>()->value_name("FILE"),
                            "read settings from this file")(
      "print-config", "print every setting with its value and origin, and exit")(
      "version", "print the version, and exit")("help,h", "print this text, and exit");
  return description;
}

po::options_description whole_description() {
  po::options_description description("", kHelpColumns);
  description.add(command_description()).add(settings_description());
  return description;
}

/// Where a text came from, for errors and for `--print-config`.
struct Source {
  std::string file;
  std::size_t line = 0;

  [[nodiscard]] std::string origin() const {
    return file.empty() ? "command line" : file + ":" + std::to_string(line);
  }
};

/// The settings that may be given several times.
std::vector<std::string_view> repeatable_settings() {
  std::vector<std::string_view> names;
  for (const OptionSetting& setting : option_table()) {
    if (setting.repeats) {
      names.emplace_back(setting.name);
    }
  }
  return names;
}

/// Boost's parser with everything off that reads more than what is written: no abbreviated names,
/// no words without an option, no option taken for the value of another.
std::vector<po::option> parse_arguments(const std::vector<std::string>& arguments,
                                        const po::options_description& description,
                                        const Source& source) {
  namespace style = po::command_line_style;
  constexpr int kStyle = style::allow_long | style::long_allow_adjacent | style::long_allow_next |
                         style::allow_short | style::allow_dash_for_short | style::short_allow_next;
  std::vector<po::option> options;
  try {
    options = po::command_line_parser(arguments).options(description).style(kStyle).run().options;
  } catch (const po::error_with_option_name& error) {
    std::string name = error.get_option_name();
    name.erase(0, name.find_first_not_of('-'));
    name.erase(std::min(name.find('='), name.size()));
    const bool is_unknown = dynamic_cast<const po::unknown_option*>(&error) != nullptr;
    throw OptionsError(source.file, source.line, name,
                       is_unknown ? "unrecognised; --help lists what there is" : error.what());
  } catch (const po::error& error) {
    throw OptionsError(source.file, source.line, "", error.what());
  }
  std::vector<std::string> seen;
  const std::vector<std::string_view> repeatable = repeatable_settings();
  for (const po::option& option : options) {
    const std::string& name = option.string_key;
    if (name.empty()) {
      const std::string word = option.value.empty() ? "" : option.value.front();
      throw OptionsError(source.file, source.line, "",
                         "unexpected word '" + word + "'; options are written --name VALUE");
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end() &&
        std::find(repeatable.begin(), repeatable.end(), name) == repeatable.end()) {
      throw OptionsError(source.file, source.line, name, "given twice");
    }
    seen.push_back(name);
    if (option.value.empty()) {
      continue;
    }
    const std::string& value = option.value.front();
    const bool took_next_word = option.original_tokens.size() > 1;
    if (took_next_word && value.size() > 1 && value.front() == '-') {
      throw OptionsError(source.file, source.line, name,
                         "needs a value, but the next word is '" + value + "'; write --" + name +
                             "=" + value + " if that is the value");
    }
    if (value.empty()) {
      throw OptionsError(source.file, source.line, name,
                         "the value is empty; leave the option out to get the default");
    }
  }
  return options;
}

void apply(const po::option& option, const Source& source, LoadedOptions& loaded) {
  for (std::size_t index = 0; index < option_table().size(); ++index) {
    if (option.string_key != option_table()[index].name) {
      continue;
    }
    const std::string& value = option.value.front();
    try {
      option_table()[index].apply(value, loaded.options);
    } catch (const OptionValueError& error) {
      throw OptionsError(source.file, source.line, option.string_key, error.what());
    }
    OptionOrigin& origin = loaded.origins[index];
    const bool adds = option_table()[index].repeats && !origin.value.empty();
    origin.value = adds ? origin.value + ", " + value : value;
    origin.origin = source.origin();
  }
}

/// @param given the command line, whose words take the place of what repeats in the file
void apply_file(const std::string& file, const std::vector<po::option>& given,
                LoadedOptions& loaded) {
  const po::options_description description = settings_description();
  const std::vector<std::string_view> repeatable = repeatable_settings();
  for (const ConfigEntry& entry : read_config_file(file, repeatable)) {
    const bool is_given =
        std::any_of(given.begin(), given.end(),
                    [&entry](const po::option& option) { return option.string_key == entry.key; });
    if (is_given &&
        std::find(repeatable.begin(), repeatable.end(), entry.key) != repeatable.end()) {
      continue;
    }
    const Source source{.file = file, .line = entry.line};
    std::string argument = "--";
    argument.append(entry.key).append("=").append(entry.value);
    for (const po::option& option : parse_arguments({argument}, description, source)) {
      apply(option, source, loaded);
    }
  }
}

}  // namespace

LoadedOptions load_options(const std::vector<std::string>& arguments) {
  LoadedOptions loaded;
  for (const OptionSetting& setting : option_table()) {
    if (*setting.default_text != '\0') {
      setting.apply(setting.default_text, loaded.options);
    }
    loaded.origins.push_back(
        {.name = setting.name, .value = setting.default_text, .origin = "default"});
  }
  const std::vector<po::option> options = parse_arguments(arguments, whole_description(), Source{});
  const auto find = [&options](std::string_view name) {
    return std::find_if(options.begin(), options.end(),
                        [name](const po::option& option) { return option.string_key == name; });
  };
  if (find("help") != options.end()) {
    loaded.action = OptionsAction::help;
  } else if (find("version") != options.end()) {
    loaded.action = OptionsAction::version;
  } else if (find("print-config") != options.end()) {
    loaded.action = OptionsAction::print_config;
  }
  if (loaded.action == OptionsAction::help || loaded.action == OptionsAction::version) {
    return loaded;
  }
  // The file first, so that the command line has the last word.
  if (const auto config = find("config"); config != options.end()) {
    apply_file(config->value.front(), options, loaded);
  }
  for (const po::option& option : options) {
    apply(option, Source{}, loaded);
  }
  return loaded;
}

std::string options_help() {
  std::ostringstream text;
  text << "Usage: overlapd [--config FILE] [--NAME VALUE]...\n"
          "Owns the GPU and runs kernels on what producer processes send.\n"
       << whole_description()
       << "\nThe command line beats the file, the file beats the defaults.\n"
          "Sizes take K, M, G, KiB, MiB, GiB (powers of 1024), times ns, us, ms, s.\n";
  return text.str();
}

std::string describe(const LoadedOptions& loaded) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  const auto shown_value = [](const OptionOrigin& setting) {
    return setting.value.empty() ? std::string("-") : setting.value;
  };
  for (const OptionOrigin& setting : loaded.origins) {
    name_width = std::max(name_width, setting.name.size());
    value_width = std::max(value_width, shown_value(setting).size());
  }
  std::string text;
  for (const OptionOrigin& setting : loaded.origins) {
    const std::string value = shown_value(setting);
    text += setting.name + std::string(name_width - setting.name.size(), ' ') + " = " + value +
            std::string(value_width - value.size(), ' ') + "  (" + setting.origin + ")\n";
  }
  return text;
}

}  // namespace overlap
