import PosternSupport
import Testing

@Suite("Timestamps")
struct TimestampTests {
  @Test(
    "RFC 3339 in UTC with milliseconds, leap days and both sides of the epoch included",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_123, "2000-02-29T00:00:00.123Z"),
      (1_709_164_799_999, "2024-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
      (Int64.max, "9999-12-31T23:59:59.999Z"), (Int64.min, "0001-01-01T00:00:00.000Z"),
    ] as [(Int64, String)])
  func rfc3339(milliseconds: Int64, text: String) {
    #expect(Timestamp(millisecondsSinceEpoch: milliseconds).rfc3339 == text)
  }

  @Test("arithmetic is clamped instead of trapping, whatever a token claims")
  func clamping() {
    #expect(Timestamp(secondsSinceEpoch: .max).millisecondsSinceEpoch == .max)
    #expect(Timestamp(secondsSinceEpoch: .min).millisecondsSinceEpoch == .min)
    #expect((Timestamp(millisecondsSinceEpoch: .max) + .seconds(1)).millisecondsSinceEpoch == .max)
    #expect((MonotonicInstant(nanoseconds: .max) + .seconds(Int64.max)).nanoseconds == .max)
    // The seconds alone are an instant, and with their fraction none.
    let longest = Duration.milliseconds(9_223_372_036_900)
    #expect((MonotonicInstant(nanoseconds: 0) + longest).nanoseconds == .max)
    #expect((MonotonicInstant(nanoseconds: 0) + (.zero - longest)).nanoseconds == .min)
    #expect((MonotonicInstant(nanoseconds: -1_000_000_000) + longest).nanoseconds == 9_223_372_035_900_000_000)
    #expect(Duration.seconds(Int64.max).wholeMilliseconds == .max)
    // A wait that is cut to whole milliseconds ends too early.
    let waits: [(Duration, Int64)] = [
      (.zero, 0), (.milliseconds(7), 7), (.milliseconds(7) + .nanoseconds(1), 8), (.nanoseconds(-1), 0),
      (.milliseconds(-7), -7), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    ]
    for (wait, milliseconds) in waits { #expect(wait.wholeMillisecondsUp == milliseconds, "\(wait)") }
    #expect(Timestamp(millisecondsSinceEpoch: -1).secondsSinceEpoch == -1)
  }
}
