import PosternJSON
import PosternSupport

/// The access manager's `authId`: a JWT whose signature is not checked here, of which only the expiry is read.
enum AuthenticationID {
  /// Returns how long a continuation is kept for `authID`: until its expiry, three minutes to an hour.
  static func life(of authID: String?, at now: Timestamp) -> Duration {
    let parts = (authID ?? "").split(atByte: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
      let end = (try? JSONParser(maxBytes: 256 << 10, maxDepth: 16).parse(payload))?["exp"]?.integerValue,
      (0...253_402_300_799).contains(end)
    else { return Journeys.usualLife }
    let left = Timestamp(secondsSinceEpoch: end) - now
    return min(max(left, Journeys.usualLife), Journeys.maxLife)
  }
}
