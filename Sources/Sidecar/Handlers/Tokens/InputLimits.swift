import AuthEngine
import JOSE
import PosternConfiguration
import PosternJSONRPC
import PosternSupport

/// Validates times and algorithms in the params of a call.
struct InputLimits {
  let rules: ValidationRules

  /// `clockSkewSeconds`: from 0 to 300.
  func clockSkew(_ seconds: Int?) throws(RPCFault) -> Duration? {
    guard let seconds else { return nil }
    let most = Int(AuthEngine.IDTokenConfiguration.maximumClockSkew.components.seconds)
    guard (0...most).contains(seconds) else {
      throw .invalidParams("clockSkewSeconds must be from 0 to \(most)", path: "/clockSkewSeconds")
    }
    return .seconds(seconds)
  }

  /// `now`: seconds since the epoch, where the configuration lets callers say it.
  func now(_ seconds: Double?) throws(RPCFault) -> Timestamp? {
    guard let seconds else { return nil }
    guard rules.allowsCallerClock else { throw .invalidParams("development.callerClock is off", path: "/now") }
    guard let milliseconds = Int64(exactly: (seconds * 1000).rounded(.down)) else {
      throw .invalidParams("now is out of range", path: "/now")
    }
    return Timestamp(millisecondsSinceEpoch: milliseconds)
  }

  /// The most entries of a list in a call.
  static let maxEntries = 100

  /// A list of bounded length: every token is compared with each entry.
  static func list(_ values: [String]?, _ name: String) throws(RPCFault) -> [String]? {
    guard values?.count ?? 0 <= maxEntries else {
      throw .invalidParams("\(name) has more than \(maxEntries) entries", path: "/\(name)")
    }
    return values
  }

  /// `maxAge`: not negative.
  static func maxAge(_ seconds: Int?) throws(RPCFault) -> Duration? {
    guard let seconds else { return nil }
    guard seconds >= 0, seconds <= Int(Int32.max) else {
      throw .invalidParams("maxAge must be from 0 to \(Int32.max)", path: "/maxAge")
    }
    return .seconds(seconds)
  }

  /// Registered names (RFC 7518, RFC 9964) that are never accepted, or cannot be computed here: to name one is no
  /// mistake in the call, and accepts nothing.
  private static let neverAccepted: Set<String> = ["none", "RSA1_5", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]

  /// The algorithms of those names, of which there may be fewer than names; an unknown name is a mistake.
  static func algorithms<Algorithm>(
    _ names: [String]?, _ algorithm: (String) -> Algorithm?
  ) throws(RPCFault) -> [Algorithm]? {
    guard let names = try list(names, "algorithms") else { return nil }
    var algorithms: [Algorithm] = []
    for (index, name) in names.enumerated() {
      if let algorithm = algorithm(name) {
        algorithms.append(algorithm)
      } else if !neverAccepted.contains(name) {
        throw .invalidParams("No such algorithm", path: "/algorithms/\(index)")
      }
    }
    return algorithms
  }
}
