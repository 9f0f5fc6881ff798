import HTTPMessages
import PosternJSON
import PosternSupport

/// The client's credentials at one issuer, in the order in which they are tried, and the one that the issuer accepted.
///
/// While a credential is replaced there is a time in which an issuer accepts the old one or the new one: with both
/// configured, no request fails for that.
package struct ClientCredentials: Sendable {
  /// The configured credential, followed by the others.
  package let all: [any ClientAuthentication]
  private let accepted = AcceptedCredential()

  /// Credentials in their order: `first`, and `fallbacks` for when the issuer rejects the client.
  init(_ first: any ClientAuthentication, fallbacks: [any ClientAuthentication]) {
    all = [first] + fallbacks
  }

  /// The position of the credential that is in use; 0 for the configured one.
  package var used: Int { accepted.position }

  /// The positions in the order to try them at `now`.
  func order(at now: MonotonicInstant) -> [Int] {
    let first = accepted.preferred(at: now)
    return [first] + all.indices.filter { $0 != first }
  }

  /// Records that the issuer accepted the credential at `position`; true when it is another one than before.
  func accept(_ position: Int, at now: MonotonicInstant) -> Bool { accepted.accept(position, at: now) }

  /// Whether both have equal credentials in the same order.
  func isEqual(to other: ClientCredentials) -> Bool {
    all.count == other.all.count && zip(all, other.all).allSatisfy { $0.isEqual(to: $1) }
  }
}

extension Issuer {
  /// The reason why the client's configured credential does not serve at the moment, for the operator; nil when it may.
  /// Reads the file of an assertion.
  package var credentialTrouble: String? {
    let fault = clientAuthentication.fault.map { "\($0.rawValue): the client's assertion \($0.phrase)" }
    let position = credentials.used
    guard position > 0 else { return fault }
    let reason = fault ?? "the issuer rejects the client's configured credential"
    return "\(reason); fallbackCredentials[\(position - 1)] is used"
  }
}

/// The credential that an issuer accepted, in memory alone, so that the next request begins with it.
///
/// After ten minutes the configured order is tried again: the credential that the operator prefers may be registered by
/// then. No request can fail for that, and none but a successful one changes it.
final class AcceptedCredential: Sendable {
  static let memory = Duration.seconds(600)

  private struct State {
    var position = 0
    var until: MonotonicInstant?
  }

  private let state = Locked(State())

  /// The position that was accepted last.
  var position: Int { state.withLock { $0.position } }

  /// The position to try first.
  func preferred(at now: MonotonicInstant) -> Int {
    state.withLock { state in state.until.map { $0 > now } ?? false ? state.position : 0 }
  }

  /// Records the accepted position; true when it is another one than before.
  func accept(_ position: Int, at now: MonotonicInstant) -> Bool {
    state.withLock { state in
      let isNews = state.position != position
      state.position = position
      // Not lengthened by use: the configured order would never be tried again.
      if position == 0 {
        state.until = nil
      } else if isNews || state.until.map({ $0 <= now }) ?? true {
        state.until = now + Self.memory
      }
      return isNews
    }
  }
}

/// A reading of an endpoint's answer: whether it may be about the client's authentication.
enum ClientRejection: Sendable {
  /// The endpoint did not authenticate the client (RFC 6749 section 5.2): another credential may be accepted.
  case client
  /// The endpoint rejected the request with an error that some providers use for assertions, too.
  case maybeClient

  /// Errors about something other than the client: the grant, the scope, the user, the proof.
  private static let others: Set<String> = [
    "access_denied", "account_selection_required", "authorization_pending", "consent_required", "expired_token",
    "insufficient_user_authentication", "interaction_required", "invalid_dpop_proof", "invalid_grant", "invalid_scope",
    "invalid_target", "login_required", "slow_down", "unsupported_grant_type", "unsupported_token_type",
    "use_dpop_nonce",
  ]

  /// Reads an answer; nil for one that is not about the client.
  init?(_ response: HTTPResponse) {
    guard response.status == 400 || response.status == 401 else { return nil }
    let document = try? JSONParser(maxBytes: TokenResponse.maxBytes, maxDepth: 16).parse(response.body)
    switch document?["error"]?.stringValue {
    case "invalid_client": self = .client
    case nil where response.status == 401: self = .client
    case let code where code.map(Self.others.contains) ?? false: return nil
    default: self = .maybeClient
    }
  }
}
