import JOSE
import PosternSupport

/// With which keys bodies are encrypted, and how well answers are.
final class PayloadSettings: Sendable {
  /// What becomes of an answer.
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
    /// Whom answers are encrypted to; nil leaves them in the clear.
    var recipient: JWK?
    /// What becomes of them.
    var answers = Answers.encrypted
  }

  private let state = Locked(Values())

  /// The values as they stand.
  var values: Values { state.withLock { $0 } }

  /// Goes back to those of the start.
  func reset() { replace(with: Values()) }

  /// Replaces all values.
  func replace(with values: Values) { state.withLock { $0 = values } }
}
