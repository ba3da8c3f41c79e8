#include "producer/channel_connection.hpp"

#include <boost/interprocess/exceptions.hpp>

namespace overlap {

void ChannelConnection::post() const noexcept {
  try {
    view_.semaphore().post();
  } catch (const boost::interprocess::interprocess_exception&) {
    // Only at INT_MAX: then there are posts enough for whoever sleeps.
  }
}

void ChannelConnection::hang_up() noexcept {
  descriptors_.socket.reset();
  descriptors_.doorbell.reset();
  descriptors_.wake.reset();
}

}  // namespace overlap
