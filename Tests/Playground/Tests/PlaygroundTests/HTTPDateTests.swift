import PosternSupport
import Testing

@testable import Playground

@Suite struct HTTPDateTests {
  @Test(
    "Dates are those of RFC 9110 section 5.6.7, with two digits and the right day of the week",
    arguments: [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ] as [(Int64, String)])
  func date(seconds: Int64, text: String) {
    #expect(HTTPDate.string(Timestamp(secondsSinceEpoch: seconds)) == text)
  }

  @Test("A clock beyond the calendar gives no date, and no trap")
  func beyond() {
    #expect(HTTPDate.string(Timestamp(millisecondsSinceEpoch: .max)) != "")
  }

  @Test("Every answer has the clock's date")
  func field() async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("GET", "/open/status/404")
      #expect(response["date"] == ["Fri, 15 Jan 2027 08:00:00 GMT"])
    }
  }
}
