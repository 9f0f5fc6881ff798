public import Entitlements
import OAuthClient
public import PosternSupport
import Sessions

extension PreauthorizeRequest {
  /// Collects the parts of a request. Building changes nothing, so that one builder may build any number of requests.
  public final class Builder {
    private var resources: [String] = []
    private var features: Set<Feature> = []

    /// A builder without resources.
    public init() {}

    /// Sets the resources: ids or MRSS fragments.
    @discardableResult
    public func setResources(resources: [String]) -> Builder {
      self.resources = resources
      return self
    }

    /// Sets the features that are switched off.
    @discardableResult
    public func disableFeatures(features: Set<Feature>) -> Builder {
      self.features = features
      return self
    }

    /// Makes a request of the parts.
    public func build() -> PreauthorizeRequest {
      PreauthorizeRequest(resources: resources, disabledFeatures: features)
    }
  }
}

extension PreauthorizeRequest.Feature {
  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// The name that the SDKs have for `localCache`.
  public static let LOCAL_CACHE = PreauthorizeRequest.Feature.localCache
  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// The name that the SDKs have for `remoteCache`.
  public static let REMOTE_CACHE = PreauthorizeRequest.Feature.remoteCache
}

/// The two callbacks of a request: one of them is called, once. Made of two closures, or a class of the program's that
/// overrides the methods.
///
/// `@unchecked`: its own properties never change. A class that inherits from it declares the same, and answers for its
/// own properties.
open class AccessEnablerCallback<Result: Sendable>: @unchecked Sendable {
  private let response: @Sendable (Result) -> Void
  private let failure: @Sendable (Result) -> Void

  /// Callbacks as closures.
  public init(
    onResponse: @escaping @Sendable (Result) -> Void,
    onFailure: @escaping @Sendable (Result) -> Void
  ) {
    response = onResponse
    failure = onFailure
  }

  /// Callbacks that do nothing, for classes that override them.
  public convenience init() { self.init(onResponse: { _ in }, onFailure: { _ in }) }

  /// The request was carried out; the result may be an error of the decision point.
  open func onResponse(result: Result) { response(result) }

  /// The request could not be carried out.
  open func onFailure(result: Result) { failure(result) }
}

extension AccessEnablerCallback<PreauthorizeResponse> {
  /// Calls the one that `response` is for.
  fileprivate func call(with response: PreauthorizeResponse) {
    switch response.outcome {
    case .response: onResponse(result: response)
    case .failure: onFailure(result: response)
    }
  }
}

extension Preauthorizer {
  /// Does what the asynchronous form does, for synchronous callers. Cancelling the task ends the call early.
  @discardableResult
  public func preauthorize(
    _ request: PreauthorizeRequest, for subject: DecisionSubject, at point: DecisionPoint,
    _ callback: AccessEnablerCallback<PreauthorizeResponse>
  ) -> Task<Void, Never> {
    Task { [self] in
      callback.call(with: await preauthorize(request, for: subject, at: point))
    }
  }
}

/// Requests the decisions of one decision point, by the names of Adobe's Access Enabler.
///
/// A value without state of its own: `Preauthorizer` does the work, and caches the decisions.
public struct AccessEnabler: Sendable {
  private let decide: @Sendable (PreauthorizeRequest) async -> PreauthorizeResponse
  /// As in descriptions.
  private let name: String

  /// An enabler for `subject` at `decisionPoint`. After a new login or a step-up, make another one: a subject that is a
  /// session's user is the user of that session. `Postern.accessEnabler` makes one that follows the logins.
  public init(preauthorizer: Preauthorizer, subject: DecisionSubject, decisionPoint: DecisionPoint) {
    name = Concise.text("access enabler at \(decisionPoint)", "\(subject)")
    decide = { request in
      if let end = await Self.end(of: subject) { return .failure(end, at: decisionPoint) }
      let response = await preauthorizer.preauthorize(
        request, for: subject, at: decisionPoint, in: CallScope(uid: subject.uid))
      guard response.decisions.contains(where: { $0.source != .local }), let end = await Self.end(of: subject) else {
        return response
      }
      return .failure(end, at: decisionPoint)
    }
  }

  /// An enabler at `decisionPoint` whose decisions are those of `decide`, which finds out about whom they are.
  public init(
    decisionPoint: DecisionPoint, decide: @escaping @Sendable (PreauthorizeRequest) async -> PreauthorizeResponse
  ) {
    name = Concise.text("access enabler at \(decisionPoint)")
    self.decide = decide
  }

  /// Returns the decisions about the resources of `request`. Whatever fails is in the response's status, and permits
  /// nothing.
  ///
  /// A session that has ended, also during the call, permits nothing.
  public func preauthorize(_ request: PreauthorizeRequest) async -> PreauthorizeResponse { await decide(request) }

  /// Does what the asynchronous form does, and calls one of the two callbacks, once, from a task of its own. Cancelling
  /// the task ends the call early.
  @discardableResult
  public func preauthorize(
    _ request: PreauthorizeRequest, didCompleteWith callback: AccessEnablerCallback<PreauthorizeResponse>
  ) -> Task<Void, Never> {
    Task { [self] in callback.call(with: await preauthorize(request)) }
  }

  /// Returns the reason why the subject's session is over; nil while it is there, and for a subject without one.
  private static func end(of subject: DecisionSubject) async -> Status? {
    guard let session = subject.session, let handle = session.handle else { return nil }
    do throws(SessionError) {
      _ = try await session.sessions.session(handle, in: CallScope(uid: session.uid))
      return nil
    } catch {
      guard case .expired = error.kind else { return .sessionMissing(error.detail) }
      return .sessionExpired
    }
  }

  /// Does the same, without the name of the parameter.
  @discardableResult
  public func preauthorize(
    _ request: PreauthorizeRequest, _ callback: AccessEnablerCallback<PreauthorizeResponse>
  ) -> Task<Void, Never> {
    preauthorize(request, didCompleteWith: callback)
  }
}

/// The name of the request in Adobe's sample.
public typealias PreauthorizationRequest = PreauthorizeRequest

/// The getters of Adobe's SDKs.
extension PreauthorizeResponse {
  /// The reason why there are no decisions; nil when there are.
  public func getStatus() -> Status? { status }

  /// The decisions, one for each resource; empty when the status gives the reason.
  public func getDecisions() -> [Decision] { decisions }
}

/// The getters of Adobe's SDKs. `isAuthorized()` is a property here, `isAuthorized`.
extension Decision {
  /// The resource as the request has it.
  public func getId() -> String { id }

  /// The reason why it is no permit; nil for a permit only.
  public func getError() -> Status? { error }
}

/// The getters of Adobe's SDKs.
extension Status {
  /// The status, as HTTP numbers them; 0 for an error of Postern.
  public func getStatus() -> Int { status }

  /// The machine-readable code.
  public func getCode() -> String { code }

  /// An explanation for people.
  public func getMessage() -> String { message }

  /// Details in the decision point's words; nil for none.
  public func getDetails() -> String? { details }

  /// The URL of further documentation; nil for none.
  public func getHelpUrl() -> String? { helpURL }

  /// The identifier by which the operator of the decision point finds this answer; nil for none.
  public func getTrace() -> String? { trace }

  /// The suggested action.
  public func getAction() -> String { action }
}

extension PreauthorizeRequest.Builder: ConciseStringConvertible {
  /// The resources.
  public var description: String { "builder of a \(build())" }
}

extension AccessEnablerCallback: ConciseStringConvertible {}

extension AccessEnabler: ConciseStringConvertible {
  /// The decision point, and for whom.
  public var description: String { name }
}
