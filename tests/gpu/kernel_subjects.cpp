#include "tests/gpu/kernel_subjects.hpp"

#include <initializer_list>

namespace overlap::test {

const std::vector<KernelSubject>& kernel_subjects() {
  static const std::vector<KernelSubject> kSubjects = [] {
    std::vector<KernelSubject> all;
    for (const auto family : {imaging_subjects, numeric_subjects, signal_subjects}) {
      for (KernelSubject& subject : family()) {
        all.push_back(std::move(subject));
      }
    }
    return all;
  }();
  return kSubjects;
}

}  // namespace overlap::test
