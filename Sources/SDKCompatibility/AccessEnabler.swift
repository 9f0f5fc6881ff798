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

/// The two callbacks of a request: one of them is called, once.
public struct AccessEnablerCallback<Result: Sendable>: Sendable {
  /// The request was carried out; the result may be an error of the decision point.
  public let onResponse: @Sendable (Result) -> Void
  /// The request could not be carried out.
  public let onFailure: @Sendable (Result) -> Void

  /// Callbacks.
  public init(
    onResponse: @escaping @Sendable (Result) -> Void,
    onFailure: @escaping @Sendable (Result) -> Void
  ) {
    self.onResponse = onResponse
    self.onFailure = onFailure
  }
}

extension AccessEnablerCallback<PreauthorizeResponse> {
  /// Calls the one that `response` is for.
  fileprivate func call(with response: PreauthorizeResponse) {
    switch response.outcome {
    case .response: onResponse(response)
    case .failure: onFailure(response)
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

/// Requests the decisions of one decision point about one user, by the names of Adobe's Access Enabler.
///
/// A value without state of its own: `Preauthorizer` does the work, and caches the decisions.
public struct AccessEnabler: Sendable {
  private let preauthorizer: Preauthorizer
  private let subject: DecisionSubject
  private let decisionPoint: DecisionPoint

  /// An enabler for `subject` at `decisionPoint`. After a new login or a step-up, make another one: a subject that is a
  /// session's user is the user of that session.
  public init(preauthorizer: Preauthorizer, subject: DecisionSubject, decisionPoint: DecisionPoint) {
    self.preauthorizer = preauthorizer
    self.subject = subject
    self.decisionPoint = decisionPoint
  }

  /// Returns the decisions about the resources of `request`. Whatever fails is in the response's status, and permits
  /// nothing.
  ///
  /// A session that has ended, also during the call, permits nothing.
  public func preauthorize(_ request: PreauthorizeRequest) async -> PreauthorizeResponse {
    if let end = await end() { return .failure(end, at: decisionPoint) }
    let response = await preauthorizer.preauthorize(
      request, for: subject, at: decisionPoint, in: CallScope(uid: subject.uid))
    guard response.decisions.contains(where: { $0.source != .local }), let end = await end() else { return response }
    return .failure(end, at: decisionPoint)
  }

  /// Does what the asynchronous form does, and calls one of the two callbacks, once, from a task of its own. Cancelling
  /// the task ends the call early.
  @discardableResult
  public func preauthorize(
    _ request: PreauthorizeRequest, didCompleteWith callback: AccessEnablerCallback<PreauthorizeResponse>
  ) -> Task<Void, Never> {
    Task { [self] in callback.call(with: await preauthorize(request)) }
  }

  /// Returns the reason why the subject's session is over; nil while it is there, and for a subject without one.
  private func end() async -> Status? {
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
  public var description: String { Concise.text("access enabler at \(decisionPoint)", "\(subject)") }
}
