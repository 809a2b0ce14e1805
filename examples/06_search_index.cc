// A search index that follows a database. Every update of a row is an event. The index wants one
// write per document, when the updates of its row have stopped, in bulk, and must not miss one. So
// the program folds by row, leases the quiet rows, posts them as one bulk request, acks the
// documents that the index has taken and nacks the others.
//
// The index is a stub in the same program: an HTTP server on loopback that refuses the first
// request.
#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/engine.h>
#include <pleat/folder.h>

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::use_awaitable;
using tcp = asio::ip::tcp;

// An event of the database: a column of a row has a new value.
struct RowUpdate {
  enum Column { kPrice, kStock } column;
  int value;
};

// A document of the index: the row as it is.
struct Product {
  int price = 0;
  int stock = 0;
  void Fold(const RowUpdate& update) noexcept {
    (update.column == RowUpdate::kPrice ? price : stock) = update.value;
  }
};

using Products = pleat::Folder<RowUpdate, Product>;

// The stub. It takes bulk requests of two lines per document, an action and the document.
class SearchIndex {
 public:
  explicit SearchIndex(asio::io_context& io)
      : acceptor_(io, {asio::ip::address_v4::loopback(), 0}) {}

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  const std::map<std::string, std::string>& documents() const { return documents_; }

  // One connection, until the other side closes it.
  asio::awaitable<void> Serve() {
    tcp::socket socket = co_await acceptor_.async_accept(use_awaitable);
    boost::beast::flat_buffer buffer;
    for (bool busy = true;; busy = false) {
      http::request<http::string_body> request;
      co_await http::async_read(socket, buffer, request, use_awaitable);
      http::response<http::string_body> response(
          busy ? http::status::service_unavailable : http::status::ok, request.version());
      if (!busy) Take(request.body());
      response.prepare_payload();
      co_await http::async_write(socket, response, use_awaitable);
    }
  }

 private:
  void Take(const std::string& bulk) {
    std::istringstream lines(bulk);
    for (std::string action, document;
         std::getline(lines, action) && std::getline(lines, document);) {
      documents_[action] = document;
    }
  }

  tcp::acceptor acceptor_;
  std::map<std::string, std::string> documents_;
};

// An index that keeps the larger version makes a second delivery of the same emission harmless.
std::string BulkOf(const std::vector<pleat::Leased<Product>>& leases) {
  std::ostringstream bulk;
  for (const auto& lease : leases) {
    bulk << R"({"index":{"_id":")" << lease.key << R"(","version":)" << lease.id.generation
         << "}}\n"
         << R"({"price":)" << lease.state.price << R"(,"stock":)" << lease.state.stock << "}\n";
  }
  return bulk.str();
}

asio::awaitable<void> Follow(tcp::endpoint index, pleat::Consumer<Product>& consumer,
                             const pleat::Driver& driver, size_t documents) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(index, use_awaitable);
  boost::beast::flat_buffer buffer;
  while (documents > 0) {
    auto leases = co_await consumer.async_lease_many(500, use_awaitable);
    http::request<http::string_body> request(http::verb::post, "/products/_bulk", 11,
                                             BulkOf(leases));
    request.set(http::field::host, "localhost");
    request.set(http::field::content_type, "application/x-ndjson");
    request.prepare_payload();
    co_await http::async_write(socket, request, use_awaitable);
    http::response<http::string_body> response;
    co_await http::async_read(socket, buffer, response, use_awaitable);

    const bool taken = response.result() == http::status::ok;
    for (auto& lease : leases) taken ? lease.Ack() : lease.Nack(20ms, driver.lease_now());
    if (taken) documents -= leases.size();
    std::cout << "bulk of " << leases.size() << " documents: " << response.result_int()
              << (taken ? ", acked\n" : ", handed back for 20 ms\n");
  }
}

int main() {
  asio::io_context io;
  auto engine = *pleat::Engine::Open({.partitions = 4});
  Products products(*engine, "products", {.quiet_period = 50ms, .max_wait = 10s});
  pleat::Driver driver(io, *engine);
  // Longer than a bulk request can take.
  pleat::Consumer consumer(driver, products, {}, {.visibility_timeout = 5s});

  SearchIndex index(io);
  asio::co_spawn(io, index.Serve(), asio::detached);
  asio::co_spawn(io, Follow(index.endpoint(), consumer, driver, 3),
                 [&](std::exception_ptr failure) {
                   if (failure) std::cout << "failed\n";
                   driver.Stop();
                 });

  // A busy moment in the shop: a hundred updates of each of three rows.
  const pleat::EngineTime now = driver.now();
  for (int i = 1; i <= 100; ++i) {
    for (int row : {17, 18, 19}) {
      const auto column = i % 4 == 0 ? RowUpdate::kPrice : RowUpdate::kStock;
      products.Fold(std::to_string(row), {column, 100 * row - i}, now + i * 10us);
    }
  }

  io.run();
  for (const auto& [action, document] : index.documents()) {
    std::cout << action << ' ' << document << '\n';
  }
  std::cout << products.ledger().events << " row updates became " << index.documents().size()
            << " document writes\n";
}
