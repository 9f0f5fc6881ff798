/// Why a playground does not start.
public enum PlaygroundError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The host is no loopback address; the playground hands out tokens to anyone, so it listens nowhere else.
  case notLoopback(String)
  /// The port is not within 0…65535.
  case portOutOfRange(Int)
  /// A lifetime is not at least one second and at most a year, or the grace longer than a day.
  case lifetimeOutOfRange
  /// No signing keys could be made, or the clients' keys are none.
  case noKeys(reason: String)
  /// The system did not allow listening there.
  case cannotListen(host: String, port: Int, reason: String)

  /// A sentence for people.
  public var description: String {
    switch self {
    case .notLoopback(let host): "the playground listens on loopback only: \(host) is not a loopback address"
    case .portOutOfRange(let port): "\(port) is not a port"
    case .lifetimeOutOfRange: "a lifetime must be between one second and one year, and the grace at most a day"
    case .noKeys(let reason): "cannot make or read keys: \(reason)"
    case .cannotListen(let host, let port, let reason): "cannot listen on \(host) port \(port): \(reason)"
    }
  }
}
