import AccessManagement
import PosternSupport
import Sessions

/// One login of a journey; an answer may require several.
enum JourneyPhase: Sendable {
  /// A chain or tree of the access manager's, or its default one.
  case tree(String?)
  /// A journey that is suspended until its user follows a link.
  case suspended(id: String)
  /// Advices of the access manager's policies.
  case composite([PolicyAdvice])
  /// The last requirement of a paused authorization, which is continued after it.
  case releasing([PolicyAdvice], SuspendedAuthorization)
  /// An authorization with a code, with the requirements of RFC 9470.
  case authorization(PolicyAdvice)

  /// Returns the phases that satisfy `advices`: a transaction alone and last, since its advice is valid once.
  static func phases(for advices: [PolicyAdvice]) -> [JourneyPhase] {
    let composite = advices.filter { $0.isCompositeAdvice && !$0.isTransaction }
    let authorizations = advices.filter { $0.type == PolicyAdvice.Name.insufficientUserAuthentication }
    return authorizations.map { .authorization($0) } + (composite.isEmpty ? [] : [.composite(composite)])
      + advices.filter(\.isTransaction).map { .composite([$0]) }
  }

  /// The approximate size in memory.
  var byteCount: Int {
    switch self {
    case .tree(let name): name?.utf8.count ?? 0
    case .suspended(let id): id.utf8.count
    case .composite(let advices): advices.reduce(0) { $0 + $1.byteCount }
    case .releasing(let advices, _): advices.reduce(SignOnRequest.maxBytes) { $0 + $1.byteCount }
    case .authorization(let advice): advice.byteCount
    }
  }

  /// Returns the phases after which a suspended authorization can be continued.
  static func phases(releasing authorization: SuspendedAuthorization) -> [JourneyPhase] {
    var phases = phases(for: authorization.advices)
    guard case .composite(let last)? = phases.popLast() else { return [] }
    return phases + [.releasing(last, authorization)]
  }

  /// The access manager's advices that it satisfies.
  var advices: [PolicyAdvice]? {
    switch self {
    case .composite(let advices), .releasing(let advices, _): advices
    case .tree, .suspended, .authorization: nil
    }
  }

  /// The single sign-on token of the authorization that waits for it.
  var releasedToken: Secret<String>? {
    if case .releasing(_, let authorization) = self { authorization.token } else { nil }
  }

  /// Whether an authorization waits for it.
  var isReleasing: Bool { if case .releasing = self { true } else { false } }

  /// The transaction it is about.
  var txId: String? { advices?.lazy.compactMap(\.txId).first }
}
