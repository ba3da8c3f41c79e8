#include "producer/job_parameters.hpp"

#include "producer/producer_error.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace overlap::testing {
namespace {

using Declared = std::array<JobParameterEntry, kMaxJobParameters>;

Declared declared(const std::vector<std::pair<std::string, bool>>& parameters) {
  Declared entries{};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    write_text(entries[i].name, parameters[i].first);
    entries[i].type = parameters[i].second ? 1 : 0;
  }
  return entries;
}

const Declared kGainShiftOffset = declared({{"gain", false}, {"shift", true}, {"offset", false}});

template <class Number>
Number number_at(const EncodedParameters& values, std::size_t index) {
  Number number{};
  std::memcpy(&number, values.bytes.data() + index * sizeof number, sizeof number);
  return number;
}

std::string refusal_of(const JobParameters& parameters, const Declared& declared) {
  try {
    static_cast<void>(encode_parameters(parameters, declared));
  } catch (const InvalidSubmission& error) {
    return error.what();
  }
  return "";
}

TEST(JobParameters, AreNoneAtFirst) {
  const JobParameters sut;
  EXPECT_TRUE(sut.empty());
  EXPECT_EQ(encode_parameters(sut, kGainShiftOffset), EncodedParameters{});
}

TEST(JobParameters, TravelInTheOrderOfTheDeclarationAndNotOfTheCall) {
  const auto sut = encode_parameters({{"offset", -0.5F}, {"gain", 2.0}}, kGainShiftOffset);
  EXPECT_EQ(sut.flags, 0b1010U);
  EXPECT_EQ(number_at<double>(sut, 0), 2.0);
  EXPECT_EQ(number_at<std::uint64_t>(sut, 1), 0U);
  EXPECT_EQ(number_at<double>(sut, 2), -0.5);
}

TEST(JobParameters, AreAsManyAsThereIsRoomFor) {
  const auto sut =
      encode_parameters({{"gain", 1.0}, {"shift", INT64_MIN}, {"offset", 3.0}}, kGainShiftOffset);
  EXPECT_EQ(sut.flags, kSubmissionParameters);
  EXPECT_EQ(number_at<std::int64_t>(sut, 1), INT64_MIN);
  EXPECT_THROW((JobParameters{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}), InvalidSubmission);
}

TEST(JobParameters, TakeWholeNumbersOfEveryTypeThatFits) {
  const auto shift = [](JobParameter value) {
    return number_at<std::int64_t>(encode_parameters({value}, kGainShiftOffset), 1);
  };
  EXPECT_EQ(shift({"shift", std::int8_t{-3}}), -3);
  EXPECT_EQ(shift({"shift", UINT32_MAX}), 4294967295);
  EXPECT_EQ(shift({"shift", INT64_MAX}), INT64_MAX);
  static_assert(!std::is_constructible_v<JobParameter, std::string_view, bool>);
  static_assert(!std::is_constructible_v<JobParameter, std::string_view, std::uint64_t>);
}

TEST(JobParameters, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const std::string text = refusal_of({{"again", 1.0}}, kGainShiftOffset);
  EXPECT_TRUE(says(text, {"'again'"})) << text;
  EXPECT_TRUE(says(text, {"gain (a real number), shift (an integer), offset (a real number)"}))
      << text;
  EXPECT_TRUE(says(refusal_of({{"gain", 1.0}}, Declared{}), {"takes none"}));
  // What fills the places that are not used is no name.
  EXPECT_TRUE(says(refusal_of({{"", 1.0}}, declared({{"gain", false}})), {"no parameter ''"}));
}

TEST(JobParameters, AValueOfTheOtherTypeIsRefused) {
  EXPECT_TRUE(says(refusal_of({{"gain", 1}}, kGainShiftOffset),
                   {"'gain' is a real number, the job brings an integer"}));
  EXPECT_TRUE(says(refusal_of({{"shift", 1.0}}, kGainShiftOffset),
                   {"'shift' is an integer, the job brings a real number"}));
}

TEST(JobParameters, TheSameNameTwiceIsRefused) {
  EXPECT_TRUE(says(refusal_of({{"gain", 1.0}, {"gain", 1.0}}, kGainShiftOffset), {"twice"}));
}

TEST(JobParameters, ReadANameThatFillsItsField) {
  Declared full{};
  std::memset(full[0].name, 'n', sizeof full[0].name);
  EXPECT_EQ(encode_parameters({{std::string(23, 'n'), 1.0}}, full).flags, 2U);
  EXPECT_FALSE(refusal_of({{std::string(22, 'n'), 1.0}}, full).empty());
}

TEST(JobParameters, AreFoundAgainByNameInAnotherDeclaration) {
  auto sut = encode_parameters({{"gain", 2.0}, {"shift", 7}}, kGainShiftOffset);
  const auto reordered = declared({{"shift", true}, {"other", false}, {"gain", false}});
  ASSERT_TRUE(translate_parameters(sut, kGainShiftOffset, reordered));
  EXPECT_EQ(sut, encode_parameters({{"gain", 2.0}, {"shift", 7}}, reordered));
  ASSERT_TRUE(translate_parameters(sut, reordered, kGainShiftOffset));
  EXPECT_EQ(sut, encode_parameters({{"gain", 2.0}, {"shift", 7}}, kGainShiftOffset));
}

TEST(JobParameters, AreNotTakenByADeclarationThatLacksOneOrHasAnotherType) {
  const auto values = encode_parameters({{"gain", 2.0}}, kGainShiftOffset);
  for (const Declared& other :
       {Declared{}, declared({{"shift", true}}), declared({{"gain", true}})}) {
    EncodedParameters sut = values;
    EXPECT_FALSE(translate_parameters(sut, kGainShiftOffset, other));
  }
  EncodedParameters none;
  EXPECT_TRUE(translate_parameters(none, kGainShiftOffset, Declared{}));
}

}  // namespace
}  // namespace overlap::testing
