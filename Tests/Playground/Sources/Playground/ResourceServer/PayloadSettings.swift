import JOSE
import PosternSupport

/// The keys that bodies are encrypted with, and the faults of answers.
final class PayloadSettings: Sendable {
  /// The treatment of an answer.
  enum Answers: String, Sendable {
    /// It is encrypted as it should be.
    case encrypted
    /// It goes out in the clear.
    case clear
    /// It is encrypted, and one byte of it is another afterwards.
    case tampered
  }

  /// The values.
  struct Values: Sendable {
    /// The key pair that requests are encrypted to; nil: none can be read.
    var key: JWK?
    /// The recipient's key of answers; nil leaves them in the clear.
    var recipient: JWK?
    /// The treatment of answers.
    var answers = Answers.encrypted
  }

  private let state = Locked(Values())

  /// The current values.
  var values: Values { state.withLock { $0 } }

  /// Goes back to those of the start.
  func reset() { replace(with: Values()) }

  /// Replaces all values.
  func replace(with values: Values) { state.withLock { $0 = values } }
}
