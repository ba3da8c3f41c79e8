#include "kernels/plugin_kernel.hpp"

#include "kernels/kernel_facts.hpp"
#include "kernels/kernel_limits.hpp"
#include "tests/kernels/declared_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace overlap {
namespace {

using test::DeclaredKernel;

/// Why a declaration is refused after it was spoiled; empty if it is not.
std::string refusal(const std::function<void(DeclaredKernel&)>& spoil) {
  DeclaredKernel declared;
  spoil(declared);
  try {
    const PluginKernel sut(declared.kernel, "/k.so");
  } catch (const PluginError& error) {
    return error.what();
  }
  return {};
}

void expect_refused(const std::function<void(DeclaredKernel&)>& spoil,
                    std::initializer_list<std::string_view> parts) {
  const std::string text = refusal(spoil);
  EXPECT_FALSE(text.empty());
  EXPECT_LT(text.size(), 500U);
  for (const std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
  }
}

TEST(PluginKernel, IsWhatThePluginDeclares) {
  DeclaredKernel declared;
  const PluginKernel sut(declared.kernel, "/k.so");
  EXPECT_EQ(sut.name(), "add_amount");
  EXPECT_EQ(sut.summary(), "adds an amount to every byte");
  EXPECT_EQ(sut.origin(), "/k.so");
  EXPECT_TRUE(sut.has_host());
  EXPECT_FALSE(sut.has_cuda());
  ASSERT_EQ(sut.parameters().size(), 3U);
  EXPECT_EQ(sut.parameters()[0].name, "amount");
  EXPECT_EQ(sut.parameters()[0].type, ParameterType::integer);
  EXPECT_EQ(sut.parameters()[0].unit, "steps");
  EXPECT_TRUE(sut.parameters()[0].per_job);
  EXPECT_EQ(sut.parameters()[0].maximum, 255);
  EXPECT_EQ(sut.parameters()[1].default_value.f64, 0.5);
  EXPECT_FALSE(sut.parameters()[1].per_job);
  ASSERT_EQ(sut.parameters()[2].choices.size(), 2U);
  EXPECT_EQ(sut.parameters()[2].choices[1], "yes");
  EXPECT_EQ(sut.table_bytes(default_values(sut)), 0U);
  EXPECT_FALSE(facts_of(sut).is_stateful);
  EXPECT_FALSE(facts_of(sut).takes_table);
}

TEST(PluginKernel, KeepsTextsThatThePluginWritesOver) {
  DeclaredKernel declared;
  char name[] = "amount";
  declared.params[0].name = name;
  const PluginKernel sut(declared.kernel, "/k.so");
  name[0] = '?';
  EXPECT_EQ(sut.parameters()[0].name, "amount");
}

TEST(PluginKernel, TakesMissingTextsForEmptyOnes) {
  DeclaredKernel declared;
  declared.kernel.summary = nullptr;
  declared.kernel.table_help = nullptr;
  declared.params[0].unit = nullptr;
  declared.params[0].help = nullptr;
  const PluginKernel sut(declared.kernel, "/k.so");
  EXPECT_EQ(sut.summary(), "");
  EXPECT_EQ(sut.table_help(), "");
  EXPECT_EQ(sut.parameters()[0].unit, "");
}

TEST(PluginKernel, NeedsNoParameters) {
  DeclaredKernel declared;
  declared.kernel.params = nullptr;
  declared.kernel.param_count = 0;
  declared.kernel.param_stride_bytes = 0;
  const PluginKernel sut(declared.kernel, "/k.so");
  EXPECT_TRUE(sut.parameters().empty());
}

TEST(PluginKernel, StepsByTheStrideOfALaterVersion) {
  struct LaterParameter {
    overlap_parameter known;
    std::uint64_t more[3];
  };
  DeclaredKernel declared;
  std::vector<LaterParameter> later;
  for (const overlap_parameter& parameter : declared.params) {
    later.push_back({parameter, {~0ULL, ~0ULL, ~0ULL}});
  }
  declared.kernel.params = &later.front().known;
  declared.kernel.param_stride_bytes = sizeof(LaterParameter);
  const PluginKernel sut(declared.kernel, "/k.so");
  ASSERT_EQ(sut.parameters().size(), 3U);
  EXPECT_EQ(sut.parameters()[2].name, "doubled");
}

TEST(PluginKernel, UsesNoFieldBehindTheEndOfItsStructure) {
  DeclaredKernel declared;
  declared.kernel.launch = [](const overlap_kernel*, const overlap_batch*, void*) { return 0; };
  declared.kernel.struct_bytes = offsetof(overlap_kernel, launch);
  const PluginKernel without_launch(declared.kernel, "/k.so");
  EXPECT_FALSE(without_launch.has_cuda());
  EXPECT_TRUE(without_launch.has_host());
  declared.kernel.struct_bytes = sizeof(overlap_kernel);
  const PluginKernel whole(declared.kernel, "/k.so");
  EXPECT_TRUE(whole.has_cuda());
  expect_refused([](DeclaredKernel& d) { d.kernel.struct_bytes = offsetof(overlap_kernel, run); },
                 {"'add_amount'", "neither", "run, launch"});
  expect_refused([](DeclaredKernel& d) { d.kernel.struct_bytes = offsetof(overlap_kernel, plan); },
                 {std::to_string(offsetof(overlap_kernel, plan)) + " bytes", "sizeof"});
  expect_refused([](DeclaredKernel& d) { d.kernel.struct_bytes = 0; }, {"0 bytes"});
}

TEST(PluginKernel, RefusesNamesThatAPipelineCannotHold) {
  for (const char* const name : {"", "A", "a b", "a:b", "a|b", "\xc3\xa4", "a\n"}) {
    expect_refused([name](DeclaredKernel& d) { d.kernel.name = name; }, {"kernel name", "a-z"});
    expect_refused([name](DeclaredKernel& d) { d.params[1].name = name; },
                   {"'add_amount'", "parameter name", "a-z"});
  }
  expect_refused([](DeclaredKernel& d) { d.kernel.name = nullptr; }, {"kernel name", "''"});
  const std::string longest(31, 'k');
  EXPECT_EQ(refusal([&](DeclaredKernel& d) { d.kernel.name = longest.c_str(); }), "");
  const std::string longer(5000, 'k');
  expect_refused([&](DeclaredKernel& d) { d.kernel.name = longer.c_str(); }, {"'kkkk", "..."});
  expect_refused([](DeclaredKernel& d) { d.params[1].name = "amount"; }, {"'amount'", "twice"});
}

TEST(PluginKernel, RefusesTextsThatNoListCanShow) {
  const std::string line(200, 'x');
  const std::string longer(201, 'x');
  EXPECT_EQ(refusal([&](DeclaredKernel& d) { d.kernel.summary = line.c_str(); }), "");
  expect_refused([&](DeclaredKernel& d) { d.kernel.summary = longer.c_str(); },
                 {"summary", "at most 200"});
  expect_refused([](DeclaredKernel& d) { d.params[0].help = "two\nlines"; }, {"help", "\\x0a"});
  expect_refused([](DeclaredKernel& d) { d.kernel.table_help = "\x1b[31m"; }, {"table_help"});
  expect_refused(
      [&](DeclaredKernel& d) {
        d.params.assign(16, d.params[1]);
        static const char* const kNames[16] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                               "i", "j", "k", "l", "m", "n", "o", "p"};
        for (std::size_t i = 0; i < 16; ++i) {
          d.params[i].name = kNames[i];
          d.params[i].help = line.c_str();
        }
        d.kernel.table_help = line.c_str();
        d.kernel.summary = line.c_str();
        d.params[0].type = OVERLAP_CHOICE;
        d.params[0].default_value.choice_index = 0;
        static std::vector<std::string> many;
        static std::vector<const char*> choices;
        for (int i = 0; i < 64; ++i) {
          many.push_back("choice_number_" + std::to_string(i));
        }
        for (const std::string& choice : many) {
          choices.push_back(choice.c_str());
        }
        d.params[0].choices = choices.data();
        d.params[0].choice_count = 64;
        d.declare_params();
      },
      {"texts of more than 4000 bytes"});
}

TEST(PluginKernel, RefusesTooManyParametersOrNone) {
  expect_refused([](DeclaredKernel& d) { d.kernel.param_count = 17; }, {"17 parameters", "16"});
  expect_refused([](DeclaredKernel& d) { d.kernel.params = nullptr; }, {"null"});
  expect_refused([](DeclaredKernel& d) { d.kernel.param_stride_bytes = 8; }, {"8 bytes each"});
  expect_refused([](DeclaredKernel& d) { d.kernel.param_stride_bytes += 1; }, {"sizeof"});
}

TEST(PluginKernel, RefusesTypesFlagsAndRangesThatMakeNoSense) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_refused([](DeclaredKernel& d) { d.params[0].type = 3; }, {"'amount'", "type 3"});
  expect_refused([](DeclaredKernel& d) { d.params[0].flags = 2; }, {"'amount'", "flags 2"});
  expect_refused([](DeclaredKernel& d) { d.params[1].minimum = 2; }, {"'level'", "range 2 to 1"});
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    expect_refused([bad](DeclaredKernel& d) { d.params[1].minimum = bad; }, {"'level'", "finite"});
    expect_refused([bad](DeclaredKernel& d) { d.params[1].maximum = bad; }, {"'level'", "finite"});
    expect_refused([bad](DeclaredKernel& d) { d.params[1].default_value.f64 = bad; },
                   {"'level'", "default"});
  }
  expect_refused([](DeclaredKernel& d) { d.params[1].default_value.f64 = 1.5; },
                 {"'level'", "default 1.5", "out of its range"});
  expect_refused([](DeclaredKernel& d) { d.params[0].default_value.i64 = 256; }, {"default 256"});
  expect_refused([](DeclaredKernel& d) { d.params[0].default_value.i64 = -1; }, {"default -1"});
  expect_refused([](DeclaredKernel& d) { d.params[0].maximum = 1.5; }, {"whole numbers"});
  expect_refused([](DeclaredKernel& d) { d.params[0].maximum = 9223372036854775808.0; },
                 {"whole numbers", "2^63 - 1024"});
  EXPECT_EQ(refusal([](DeclaredKernel& d) { d.params[0].maximum = 9223372036854774784.0; }), "");
}

TEST(PluginKernel, RefusesChoicesThatCannotBeChosen) {
  static const char* const kBad[3][2] = {{"a", "a"}, {"a", ""}, {"a", "b,c"}};
  for (const auto& bad : kBad) {
    expect_refused([&bad](DeclaredKernel& d) { d.params[2].choices = bad; },
                   {"'doubled'", "the choice"});
  }
  expect_refused([](DeclaredKernel& d) { d.params[2].choices = nullptr; }, {"null"});
  expect_refused([](DeclaredKernel& d) { d.params[2].choice_count = 0; }, {"0 choices"});
  expect_refused([](DeclaredKernel& d) { d.params[2].choice_count = 65; }, {"65 choices", "64"});
  expect_refused([](DeclaredKernel& d) { d.params[2].default_value.choice_index = 2; },
                 {"choice number 2"});
  expect_refused([](DeclaredKernel& d) { d.params[2].flags = OVERLAP_PARAMETER_PER_JOB; },
                 {"'doubled'", "a job cannot bring"});
}

TEST(PluginKernel, LetsAJobBringThreeParametersAtMost) {
  const auto per_job = [](std::size_t count) {
    return [count](DeclaredKernel& d) {
      static const char* const kNames[4] = {"a", "b", "c", "d"};
      d.params.assign(count, d.params[0]);
      for (std::size_t i = 0; i < count; ++i) {
        d.params[i].name = kNames[i];
      }
      d.declare_params();
    };
  };
  EXPECT_EQ(refusal(per_job(3)), "");
  expect_refused(per_job(4), {"more than 3"});
}

TEST(PluginKernel, RefusesAKernelWithoutItsFunctions) {
  expect_refused([](DeclaredKernel& d) { d.kernel.plan = nullptr; }, {"function plan"});
  expect_refused([](DeclaredKernel& d) { d.kernel.granule_bytes = nullptr; }, {"granule_bytes"});
  expect_refused([](DeclaredKernel& d) { d.kernel.run = nullptr; }, {"neither"});
  expect_refused(
      [](DeclaredKernel& d) {
        d.kernel.granule_bytes = [](const overlap_kernel*, const overlap_param_value*) {
          return std::uint64_t{0};
        };
      },
      {"0 bytes"});
}

TEST(PluginKernel, PlansAsThePluginSays) {
  DeclaredKernel declared;
  const PluginKernel sut(declared.kernel, "/k.so");
  ParameterValues values = default_values(sut);
  values[2].choice_index = 1;
  const auto planned = sut.plan(values, 12);
  const auto* const plan = std::get_if<Plan>(&planned);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->max_output_bytes, 24U);
  EXPECT_EQ(plan->paths, Path::copy | Path::mapped);
  EXPECT_EQ(plan->output_size, OutputSize::known);
}

std::string plan_refusal(const Kernel& kernel, std::uint64_t bytes) {
  const auto planned = kernel.plan(default_values(kernel), bytes);
  const auto* const refused = std::get_if<Refusal>(&planned);
  return refused == nullptr ? std::string() : refused->text;
}

TEST(PluginKernel, RefusesMisfitSizesItselfAndPassesOnWhatThePluginSays) {
  DeclaredKernel declared;
  const PluginKernel sut(declared.kernel, "/k.so");
  EXPECT_EQ(plan_refusal(sut, 4000), "");
  EXPECT_NE(plan_refusal(sut, 4001).find("4001"), std::string::npos);
  EXPECT_EQ(plan_refusal(sut, 4004), "add_amount: more than 4000 bytes?are too many");
}

TEST(PluginKernel, TakesNoPlanThatMakesNoSense) {
  DeclaredKernel declared;
  const PluginKernel sut(declared.kernel, "/k.so");
  declared.kernel.plan = [](const overlap_kernel*, const overlap_param_value*, std::uint64_t,
                            overlap_plan* plan, char*, std::size_t) {
    plan->max_output_bytes = UINT64_MAX;
    return 0;
  };
  EXPECT_NE(plan_refusal(sut, 4).find("makes no sense"), std::string::npos);
  declared.kernel.plan = [](const overlap_kernel*, const overlap_param_value*, std::uint64_t bytes,
                            overlap_plan* plan, char*, std::size_t) {
    plan->workspace_bytes = kMostJobBytes + bytes - 4;
    return 0;
  };
  EXPECT_EQ(plan_refusal(sut, 4), "");
  EXPECT_NE(plan_refusal(sut, 8).find("workspace 70368744177668"), std::string::npos);
  declared.kernel.plan = [](const overlap_kernel*, const overlap_param_value*, std::uint64_t,
                            overlap_plan* plan, char*, std::size_t) {
    plan->output_size = 3;
    return 0;
  };
  EXPECT_NE(plan_refusal(sut, 4).find("size rule 3"), std::string::npos);
  declared.kernel.plan = [](const overlap_kernel*, const overlap_param_value*, std::uint64_t,
                            overlap_plan*, char* text, std::size_t text_bytes) {
    std::memset(text, 'x', text_bytes);  // no terminator
    return 7;
  };
  EXPECT_LT(plan_refusal(sut, 4).size(), 600U);
  declared.kernel.granule_bytes = [](const overlap_kernel*, const overlap_param_value*) {
    return std::uint64_t{0};
  };
  EXPECT_EQ(sut.granule_bytes(default_values(sut)), 1U);
  EXPECT_NE(plan_refusal(sut, 4).find("0 bytes"), std::string::npos);
}

TEST(PluginKernel, RunsWhatThePluginRuns) {
  DeclaredKernel declared;
  const PluginKernel sut(declared.kernel, "/k.so");
  ParameterValues values = default_values(sut);
  values[0].i64 = 3;
  const std::uint8_t input[4] = {0, 1, 254, 255};
  std::uint8_t output[4] = {};
  const overlap_batch_item item{input,   4,       output, 4,       values.data(),
                                nullptr, nullptr, 0,      nullptr, nullptr};
  const overlap_batch batch{sizeof(overlap_batch), sizeof item, 1,       3, &item, nullptr,
                            values.data(),         4,           nullptr, 0, 0,     0};
  sut.run(batch);
  EXPECT_EQ(std::vector<int>(output, output + 4), (std::vector<int>{3, 4, 1, 2}));
  EXPECT_EQ(sut.launch(batch, nullptr), 801) << "cudaErrorNotSupported";
}

TEST(PluginKernel, SaysWhyItCannotBePrepared) {
  DeclaredKernel declared;
  const PluginKernel unprepared(declared.kernel, "/k.so");
  EXPECT_FALSE(unprepared.prepare(default_values(unprepared), 4, true));
  declared.kernel.prepare = [](const overlap_kernel*, const overlap_param_value*, std::uint64_t,
                               int on_gpu, char* text, std::size_t text_bytes) {
    std::strncpy(text, on_gpu != 0 ? "no library" : "", text_bytes - 1);
    return on_gpu;
  };
  const PluginKernel sut(declared.kernel, "/k.so");
  EXPECT_FALSE(sut.prepare(default_values(sut), 4, false));
  const auto refused = sut.prepare(default_values(sut), 4, true);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text, "add_amount: no library");
}

TEST(PluginKernel, HasNoReferenceAndSaysSo) {
  DeclaredKernel declared;
  const PluginKernel sut(declared.kernel, "/k.so");
  try {
    sut.reference({default_values(sut), {}, {}});
    FAIL() << "there is a reference";
  } catch (const NoReference& error) {
    EXPECT_NE(std::string(error.what()).find("'add_amount'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("/k.so"), std::string::npos);
  }
}

}  // namespace
}  // namespace overlap
