#include "producer/fork_guard.hpp"

#include "producer/producer_error.hpp"

#include <pthread.h>
#include <unistd.h>
#include <algorithm>
#include <vector>

namespace overlap {
namespace {

struct ForkRegistry {
  std::mutex mutex;
  std::vector<int> descriptors;
  std::vector<ForkFlag*> flags;
};

ForkRegistry& registry();

void before_fork() { registry().mutex.lock(); }

void after_fork_in_parent() { registry().mutex.unlock(); }

void after_fork_in_child() {
  ForkRegistry& here = registry();
  for (const int fd : here.descriptors) {
    ::close(fd);
  }
  here.descriptors.clear();
  for (ForkFlag* flag : here.flags) {
    flag->raise();
  }
  here.mutex.unlock();
}

// Never destroyed: a Producer may be a static object that goes later.
ForkRegistry& registry() {
  static ForkRegistry* const instance = [] {
    auto* made = new ForkRegistry;
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return made;
  }();
  return *instance;
}

}  // namespace

NoForkSection::NoForkSection() : lock_(registry().mutex) {}

PrivateDescriptor::PrivateDescriptor(FileDescriptor descriptor, const NoForkSection& /*section*/)
    : descriptor_(std::move(descriptor)) {
  if (descriptor_) {
    registry().descriptors.push_back(descriptor_.get());
  }
}

PrivateDescriptor& PrivateDescriptor::operator=(PrivateDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    descriptor_ = std::move(other.descriptor_);
  }
  return *this;
}

void PrivateDescriptor::reset() noexcept {
  if (!descriptor_) {
    return;
  }
  const std::lock_guard lock(registry().mutex);
  std::vector<int>& open = registry().descriptors;
  const auto found = std::find(open.begin(), open.end(), descriptor_.get());
  if (found == open.end()) {
    static_cast<void>(descriptor_.release());
    return;
  }
  open.erase(found);
  descriptor_.reset();
}

ForkFlag::ForkFlag() {
  const std::lock_guard lock(registry().mutex);
  registry().flags.push_back(this);
}

ForkFlag::~ForkFlag() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().flags, this);
}

void ForkFlag::check() const {
  if (raised()) {
    throw ForkedProcess();
  }
}

}  // namespace overlap
