import AccessManagement
import PosternSupport
import Sessions

/// One login of a journey; an answer may ask for several.
enum JourneyPhase: Sendable {
  /// A chain or tree of the access manager's, or its default one.
  case tree(String?)
  /// A journey that was suspended until its user followed a link.
  case suspended(id: String)
  /// Advices of the access manager's policies.
  case composite([PolicyAdvice])
  /// The last of what holds an authorization up, which goes on after it.
  case held([PolicyAdvice], HeldAuthorization)
  /// An authorization with a code, with what RFC 9470 asks for.
  case authorization(PolicyAdvice)

  /// The phases that satisfy `advices`: a transaction alone and last, since what it is asked for is good once.
  static func phases(for advices: [PolicyAdvice]) -> [JourneyPhase] {
    let composite = advices.filter { $0.isCompositeAdvice && !$0.isTransaction }
    let authorizations = advices.filter { $0.type == PolicyAdvice.Name.insufficientUserAuthentication }
    return authorizations.map { .authorization($0) } + (composite.isEmpty ? [] : [.composite(composite)])
      + advices.filter(\.isTransaction).map { .composite([$0]) }
  }

  /// About how much memory it takes.
  var byteCount: Int {
    switch self {
    case .tree(let name): name?.utf8.count ?? 0
    case .suspended(let id): id.utf8.count
    case .composite(let advices): advices.reduce(0) { $0 + $1.byteCount }
    case .held(let advices, _): advices.reduce(SignOnRequest.maxBytes) { $0 + $1.byteCount }
    case .authorization(let advice): advice.byteCount
    }
  }

  /// The phases after which `held` can go on.
  static func phases(releasing held: HeldAuthorization) -> [JourneyPhase] {
    var phases = phases(for: held.advices)
    guard case .composite(let last)? = phases.popLast() else { return [] }
    return phases + [.held(last, held)]
  }

  /// The access manager's advices that it satisfies.
  var advices: [PolicyAdvice]? {
    switch self {
    case .composite(let advices), .held(let advices, _): advices
    case .tree, .suspended, .authorization: nil
    }
  }

  /// The single sign-on token of the authorization that waits for it.
  var heldToken: Secret<String>? { if case .held(_, let held) = self { held.token } else { nil } }

  /// Whether an authorization waits for it.
  var isHeld: Bool { if case .held = self { true } else { false } }

  /// The transaction it is about.
  var txId: String? { advices?.lazy.compactMap(\.txId).first }
}
