import HTTPMessages
import PosternSupport

/// How far a server's clock is from this machine's, by the `Date` of its answer (RFC 9110 section 6.6.1).
enum ClockSkew {
  /// Positive when the server is ahead; zero when the clocks may agree. Nil when the answer does not tell.
  ///
  /// `Date` has whole seconds and was written between sending and receiving, so that only what lies outside of that
  /// interval is skew.
  static func of(_ response: HTTPResponse, sentAt: Timestamp, receivedAt: Timestamp) -> Duration? {
    // An answer out of a cache is as old as its `Age` says, or older.
    guard response.fields["Age"] == nil, let date = response.fields["Date"].flatMap(HTTPDate.parse) else { return nil }
    let least = date - receivedAt
    let most = date + .seconds(1) - sentAt
    if least > .zero { return least }
    return most < .zero ? most : .zero
  }
}
