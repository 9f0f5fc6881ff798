public import PosternJSON
public import PosternSupport

/// A method of the wire contract: its name, what goes in, what comes out, how it can fail. One file per method.
///
/// The method table, the OpenRPC document and the reference pages all come from these types; nothing is written next to
/// them.
public protocol RPCMethod: Sendable {
  /// The `params` object.
  associatedtype Params: RPCObject
  /// The `result`.
  associatedtype Result: Codable & Sendable

  /// The name on the wire, camelCase.
  static var name: String { get }
  /// Which lists of a peer's rule bound it. Without a default, so that a new method does not compile before it is
  /// decided.
  static var bounds: PeerBounds { get }
  /// How the lists of endpoints bound it. Without a default, too.
  static var chain: ChainRule { get }
  /// Which steps of a call treat it in another way than others.
  static var traits: MethodTraits { get }
  /// One line.
  static var summary: String { get }
  /// Further documentation for callers; Markdown.
  static var explanation: String { get }
  /// The result, in one line.
  static var resultSummary: String { get }
  /// The errors this method adds to those every method has (`ErrorCode.common`).
  static var errors: [ErrorCode] { get }
  /// Whether it is sent without an id and never answered.
  static var isNotification: Bool { get }
}

extension RPCMethod {
  /// Like most methods.
  public static var traits: MethodTraits { [] }
  /// Nothing beyond the summary.
  public static var explanation: String { "" }
  /// None beyond the common ones.
  public static var errors: [ErrorCode] { [] }
  /// Answered.
  public static var isNotification: Bool { false }
}

extension ErrorCode {
  /// The errors of every method.
  public static let common: [ErrorCode] = [
    .invalidParams, .internalError, .requestCancelled, .overloaded, .peerForbidden, .shuttingDown, .deadlineExceeded,
    .auditUnavailable,
  ]

  /// The errors of every method that needs an issuer's keys.
  static let keySources: [ErrorCode] = [
    .jwksFetchFailed, .discoveryFailed, .discoveryIssuerMismatch, .jwksInvalid, .issuerUnknown, .jwksURLNotAllowed,
  ]

  /// The errors of every method that continues a journey.
  static let journeys: [ErrorCode] = [
    .continuationUnknown, .authenticationTimedOut, .accessManagerUnreachable, .accessManagerError, .sessionNotFound,
    .sessionExpired, .tokenEndpointError, .tokenEndpointUnreachable, .authorizationFailed, .stateUnknown,
    .storeUnavailable, .sessionIssuerUnknown, .grantNotSupported,
  ]
}

/// An object of the wire contract whose members are documented; the schema's kinds come from its `Codable` conformance.
public protocol RPCObject: Codable, Sendable {
  /// The meaning of each member, by its name on the wire. A test checks that none is missing or left over.
  static var memberDocs: [String: String] { get }
  /// The object as `JSONValueDecoder` decodes it, read in less time; nil if it has to be decoded, for the error or
  /// because it has a member that is seldom given.
  static func read(_ object: JSONTree) -> Self?
}

extension RPCObject {
  /// Decoded always.
  public static func read(_ object: JSONTree) -> Self? { nil }
}

/// No params at all.
public struct NoParams: RPCObject {
  private enum CodingKeys: CodingKey {}

  /// No params.
  public init() {}

  /// Decodes an object without members: any member is an error.
  public init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: CodingKeys.self) }

  /// An empty object.
  public func encode(to encoder: any Encoder) throws { _ = encoder.container(keyedBy: CodingKeys.self) }

  /// Nothing to document.
  public static let memberDocs: [String: String] = [:]
}

/// `meta`, which every request may carry in its params (wire.md section 2).
public struct CallMeta: RPCObject, Equatable {
  /// The W3C trace context, passed on to every upstream request.
  public var traceparent: String?
  /// Bounds the whole call in milliseconds; ends in `deadline_exceeded`.
  public var timeoutMs: Int?

  /// Meta of the given parts.
  public init(traceparent: String? = nil, timeoutMs: Int? = nil) {
    self.traceparent = traceparent
    self.timeoutMs = timeoutMs
  }

  /// The members' meanings.
  public static let memberDocs = [
    "traceparent": "W3C trace context, passed on to every upstream request this call causes",
    "timeoutMs": "Bounds the whole call, in milliseconds, at least 1; -32022 when it runs out",
  ]
}

/// Which lists of a rule of `peers` bound a method: `resources`, `issuers`, `preauthorization`.
///
/// What such a list hides is reported by the method in the words of what is not configured, and is left out of its
/// results.
public struct PeerBounds: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// The configured resources, and what was begun for them.
  public static let resources = PeerBounds(rawValue: 1 << 0)
  /// The configured issuers, their sessions and what was begun at them.
  public static let issuers = PeerBounds(rawValue: 1 << 1)
  /// The configured decision points.
  public static let preauthorization = PeerBounds(rawValue: 1 << 2)
  /// Every list.
  public static let all: PeerBounds = [.resources, .issuers, .preauthorization]
}

/// How the lists of an endpoint, or of `narrow`, bound a method.
public enum ChainRule: Sendable, Hashable {
  /// Its answer and its effect have nothing that a list is about.
  case open
  /// Its handler applies the lists.
  case checked
  /// It gets around these lists: at a level that has one of them it is available only where that level's `methods`
  /// names it.
  case beyond(EndpointLists)
  /// It makes a session: with a list of sessions it is not available.
  case makesSessions
}

/// Lists of an endpoint, or of `narrow`, other than `methods`.
public struct EndpointLists: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// The names of resources.
  public static let resources = EndpointLists(rawValue: 1 << 0)
  /// The HTTP methods of fetches.
  public static let httpMethods = EndpointLists(rawValue: 1 << 1)
  /// The paths of fetches.
  public static let paths = EndpointLists(rawValue: 1 << 2)
  /// The handles of sessions.
  public static let sessions = EndpointLists(rawValue: 1 << 3)
  /// Every list.
  public static let all: EndpointLists = [.resources, .httpMethods, .paths, .sessions]
}

/// How the steps of a call treat a method, if in another way than others.
public struct MethodTraits: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Its calls need no slot (`limits.inFlight`, `concurrency`), so that they succeed when every slot is taken: a maker can
  /// revoke an endpoint whatever its child does, and a caller can list the tasks to cancel and ask for the reason.
  /// Lists and explanations have limits of their own.
  public static let needsNoSlot = MethodTraits(rawValue: 1 << 0)
  /// It answers a question about a user's step-up. The call that asked has a slot, and ends after the answer.
  public static let answersQuestion = MethodTraits(rawValue: 1 << 1)
  /// Its calls may wait and need no approval: they show or end something, compute, or make an endpoint, whose calls need
  /// the approval of its makers in turn.
  public static let needsNoApproval = MethodTraits(rawValue: 1 << 2)
  /// It checks whether the sidecar is healthy: such calls have a rate of their own, and no trace.
  public static let isProbe = MethodTraits(rawValue: 1 << 3)
  /// It gives up rights, even on a connection whose other calls are at their limit.
  public static let givesRightsUp = MethodTraits(rawValue: 1 << 4)
  /// Its effect lasts only as long as the connection, so it is of no use over HTTP.
  public static let needsConnection = MethodTraits(rawValue: 1 << 5)
}
