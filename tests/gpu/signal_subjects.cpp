#include "tests/gpu/kernel_subjects.hpp"

#include <utility>

namespace overlap::test {

std::vector<KernelSubject> signal_subjects() {
  // Jobs of several sizes in one batch would fail a sum of more than one job; those are tested by
  // themselves.
  std::vector<KernelSubject> all = {{"power_spectrum", ElementKind::f32, 2},
                                    {"power_spectrum:scale=0.1", ElementKind::f32, 2},
                                    {"power_spectrum:scale=-1e-42", ElementKind::f32, 2},
                                    {"integrate:count=1", ElementKind::f32, 1},
                                    {"integrate:count=1,op=mean", ElementKind::f32, 1}};
  for (const std::size_t taps : {1U, 2U, 3U, 4U, 7U, 64U, 65U, 511U, 513U, 1027U}) {
    for (const auto& [type, lanes] : {std::pair{"f32", 1U}, std::pair{"c32", 2U}}) {
      all.push_back({"fir:taps=" + std::to_string(taps) + ",type=" + type, ElementKind::f32, lanes,
                     awkward_input(ElementKind::f32, taps, 11)});
      all.back().most_elements = 100'000;
    }
  }
  return all;
}

}  // namespace overlap::test
