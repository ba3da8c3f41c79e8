// Shows what is wrong with cudaMemcpyBatchAsync where several processes share a GPU, with CUDA alone.
//
//   batched_copies_fault COPIES_IN_A_CALL [PROCESSES] [SECONDS]
//
// Every process sends 16 MB to the GPU and back, over and over, on four streams, and compares. Host memory
// is pinned in ranges of 12 KiB whose borders cut the bytes into copies of 4 and 8 KiB: some 650 a batch.
// COPIES_IN_A_CALL 1 makes them with cudaMemcpyAsync, 0 all of a batch with one call. Exits with how
// many processes got wrong bytes or lost their context. daemon/device/README.md has what came of it.

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kJobBytes = 1'000'001;
constexpr std::size_t kSlotBytes = 245 * 4096;
constexpr std::size_t kPinnedBytes = 3 * 4096;
constexpr std::size_t kStreams = 4;
constexpr std::size_t kJobsOfAStream = 4;
constexpr std::size_t kSideBytes = kStreams * kJobsOfAStream * kSlotBytes;

std::uint64_t rounds = 0;

[[noreturn]] void end(const char* what, const char* why) {
  std::printf("process %d, round %llu: %s: %s\n", static_cast<int>(::getpid()),
              static_cast<unsigned long long>(rounds), what, why);
  std::fflush(stdout);
  // A lost context cannot be taken down.
  ::_exit(EXIT_FAILURE);
}

void expect_success(const char* what, cudaError_t code) {
  if (code != cudaSuccess) {
    end(what, cudaGetErrorName(code));
  }
}

struct Copies {
  std::vector<void*> destinations;
  std::vector<const void*> sources;
  std::vector<std::size_t> sizes;

  void add(void* destination, const void* source, std::size_t bytes) {
    destinations.push_back(destination);
    sources.push_back(source);
    sizes.push_back(bytes);
  }

  void enqueue(std::size_t in_a_call, cudaStream_t stream) {
    for (std::size_t first = 0; first < sizes.size(); first += in_a_call) {
      const std::size_t count = std::min(in_a_call, sizes.size() - first);
      if (in_a_call == 1) {
        expect_success("cudaMemcpyAsync", cudaMemcpyAsync(destinations[first], sources[first],
                                                          sizes[first], cudaMemcpyDefault, stream));
        continue;
      }
      cudaMemcpyAttributes attributes{};
      attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
      std::size_t first_of_attributes = 0;
      expect_success("cudaMemcpyBatchAsync",
                     cudaMemcpyBatchAsync(destinations.data() + first, sources.data() + first,
                                          sizes.data() + first, count, &attributes,
                                          &first_of_attributes, 1, stream));
    }
  }
};

struct Stream {
  cudaStream_t handle = nullptr;
  cudaEvent_t over = nullptr;
  Copies in;
  Copies out;
};

/// What goes out and, behind it, what comes back; kept until the process ends.
std::byte* pinned_area() {
  void* const area =
      ::mmap(nullptr, 2 * kSideBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) {
    end("mmap", "no memory");
  }
  auto* const bytes = static_cast<std::byte*>(area);
  for (std::size_t at = 0; at < 2 * kSideBytes; at += kPinnedBytes) {
    expect_success("cudaHostRegister",
                   cudaHostRegister(bytes + at, std::min(kPinnedBytes, 2 * kSideBytes - at),
                                    cudaHostRegisterPortable | cudaHostRegisterMapped));
  }
  return bytes;
}

Stream make_stream(std::byte* area, std::size_t index) {
  Stream made;
  void* device = nullptr;
  expect_success("cudaStreamCreate",
                 cudaStreamCreateWithFlags(&made.handle, cudaStreamNonBlocking));
  expect_success("cudaEventCreate", cudaEventCreateWithFlags(&made.over, cudaEventDisableTiming));
  expect_success("cudaMalloc", cudaMalloc(&device, kJobsOfAStream * kSlotBytes));
  for (std::size_t job = 0; job < kJobsOfAStream; ++job) {
    const std::size_t slot = (index * kJobsOfAStream + job) * kSlotBytes;
    for (std::size_t done = 0; done < kJobBytes;) {
      std::byte* const host = area + slot + done;
      std::byte* const there = static_cast<std::byte*>(device) + job * kSlotBytes + done;
      // No copy crosses from one pinned range to the next, on either side: theirs do not begin alike.
      const std::size_t bytes =
          std::min({kJobBytes - done, kPinnedBytes - (slot + done) % kPinnedBytes,
                    kPinnedBytes - (kSideBytes + slot + done) % kPinnedBytes});
      made.in.add(there, host, bytes);
      made.out.add(host + kSideBytes, there, bytes);
      done += bytes;
    }
  }
  return made;
}

void run(std::size_t in_a_call, double seconds) {
  std::byte* const area = pinned_area();
  std::array<Stream, kStreams> streams;
  for (std::size_t i = 0; i < kStreams; ++i) {
    streams[i] = make_stream(area, i);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (; std::chrono::steady_clock::now() < until; ++rounds) {
    for (std::size_t at = 0; at < kSideBytes; at += sizeof(std::uint64_t)) {
      const std::uint64_t value = (rounds + 1) * 0x9e37'79b9'7f4a'7c15U + at;
      std::memcpy(area + at, &value, sizeof value);
    }
    for (Stream& stream : streams) {
      stream.in.enqueue(in_a_call, stream.handle);
      stream.out.enqueue(in_a_call, stream.handle);
      expect_success("cudaEventRecord", cudaEventRecord(stream.over, stream.handle));
    }
    for (const Stream& stream : streams) {
      cudaError_t code = cudaErrorNotReady;
      while (code == cudaErrorNotReady) {
        code = cudaEventQuery(stream.over);
      }
      expect_success("cudaEventQuery", code);
    }
    for (std::size_t slot = 0; slot < kSideBytes; slot += kSlotBytes) {
      if (std::memcmp(area + slot, area + kSideBytes + slot, kJobBytes) != 0) {
        end("compare", "wrong bytes");
      }
    }
  }
  std::printf("process %d: %llu rounds, every byte right\n", static_cast<int>(::getpid()),
              static_cast<unsigned long long>(rounds));
  std::fflush(stdout);
  ::_exit(EXIT_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int index, double otherwise) {
    return index < argc ? std::strtod(argv[index], nullptr) : otherwise;
  };
  const auto in_a_call = static_cast<std::size_t>(argument(1, 0));
  const auto processes = static_cast<int>(argument(2, 10));
  for (int i = 0; i < processes; ++i) {
    // Before CUDA is there: a context does not outlive a fork.
    const pid_t process = ::fork();
    if (process == 0) {
      run(in_a_call == 0 ? kSideBytes : in_a_call, argument(3, 8));
    }
    if (process < 0) {
      end("fork", "no more processes");
    }
  }
  int failed = 0;
  int status = 0;
  while (::wait(&status) > 0) {
    failed += status == 0 ? 0 : 1;
  }
  std::printf("%d of %d processes failed\n", failed, processes);
  return failed;
}
