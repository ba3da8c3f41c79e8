// A producer in a user namespace and a file system of its own that has nothing but the socket in
// common with the daemon's.

#include "tests/process/process_test.hpp"
#include "tests/unit/says.hpp"

#include <filesystem>
#include <string>

namespace overlap::testing {
namespace {

namespace fs = std::filesystem;

using ProducerInANamespace = ProcessTest;

// Arguments: an empty folder, the socket, the folder of the programs, the input. What the dynamic
// linker and a sanitizer's run-time need is bound; /dev/shm, /run and /tmp are not there.
constexpr const char* kScript = R"(
root=$1 socket=$2 programs=$3 input=$4
mount -t tmpfs tmpfs "$root"
mkdir "$root/programs" "$root/proc" "$root/work"
for folder in usr lib lib64 etc; do
  [ -e "/$folder" ] || continue
  mkdir "$root/$folder"
  mount --rbind "/$folder" "$root/$folder"
done
mount --rbind /proc "$root/proc"
mount --bind "$programs" "$root/programs"
touch "$root/socket"
mount --bind "$socket" "$root/socket"
cp "$input" "$root/work/input"
chroot "$root" /programs/overlap-send --socket /socket --kernel scale:type=u8,a=2,b=1 \
  --input /work/input --slot-bytes 4096 --slots 3 --output /work/output >&2
test ! -e "$root/dev"
cat "$root/work/output"
)";

TEST_F(ProducerInANamespace, NeedsNothingButTheSocket) {
  const std::vector<std::string> unshare{"unshare", "--user", "--map-root-user", "--mount"};
  std::vector<std::string> probe = unshare;
  probe.emplace_back("true");
  const Finished probed = run({.command = probe});
  if (probed.exit_code != 0) {
    GTEST_SKIP() << "no user namespaces here: " << probed.errors;
  }
  DaemonProcess daemon = start_daemon();
  const std::string input = make_file("input", 100 * 4096 + 77);
  fs::create_directory(path("root"));
  std::vector<std::string> command = unshare;
  command.insert(command.end(),
                 {"sh", "-euc", kScript, "sh", path("root"), socket_path(),
                  fs::path(program_path("overlap-send")).parent_path().string(), input});
  const Finished sut = run({.command = command});
  ASSERT_EQ(sut.exit_code, 0) << sut.errors;
  EXPECT_TRUE(says(sut.errors, {"101 jobs"}));
  write_file(path("output"), sut.output);
  EXPECT_TRUE(is_right("scale", "type=u8,a=2,b=1", input, 4096, path("output")));
  EXPECT_EQ(daemon.stop(), 0) << daemon.log();
}

}  // namespace
}  // namespace overlap::testing
