#include "tests/bench/role.hpp"

#include <cstdint>
#include <exception>
#include <iostream>
#include <sstream>

namespace overlap::bench {

int serve_role(const std::function<std::unique_ptr<Role>()>& make) {
  try {
    const std::unique_ptr<Role> role = make();
    std::cout << "ready" << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream command(line);
      std::string word;
      std::uint64_t milliseconds = 0;
      std::string how;
      command >> word;
      if (word == "prepare") {
        role->prepare();
        std::cout << "prepared" << std::endl;
      } else if (word == "run" && command >> milliseconds) {
        command >> how;
        std::cout << role->run(std::chrono::milliseconds(milliseconds), how).to_line() << std::endl;
      } else {
        std::cout << "'" << line << "' is no command" << std::endl;
        return 1;
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
}

}  // namespace overlap::bench
