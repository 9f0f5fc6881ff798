import PosternJSON
import PosternSupport

/// The access manager's `authId`: a JWT that is not ours to check, but that says until when it is of use.
enum AuthenticationID {
  /// How long a continuation is to be kept for `authID`: as long as it says, three minutes to an hour.
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
