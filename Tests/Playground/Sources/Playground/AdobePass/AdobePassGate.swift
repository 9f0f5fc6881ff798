import NIOHTTP1

/// The checks of every request: the log, the throttle and the headers that all must have.
struct AdobePassGate: Sendable {
  let settings: AdobePassSettings
  let throttle: AdobePassThrottle
  let log: AdobePassLog
  let answers: AdobePassAnswers
  let faults: Faults
  let statistics: Statistics

  /// Counts the request; the answer of one that comes too fast. A browser's navigation is not throttled.
  func rejection(of request: Request, as call: AdobePassCall) -> Reply? {
    let device = request.headers.first(name: AdobePassHeader.address.rawValue) ?? "direct"
    log.note(request, as: call, device: device)
    let values = settings.values
    guard !values.throttles || call == .authenticate || throttle.admits(device) else {
      statistics.count(\.adobeThrottled)
      return AdobePassShape.throttled.reply(values)
    }
    switch call {
    case .register: statistics.count(\.adobeRegistrations)
    case .token: statistics.count(\.adobeTokens)
    case .preauthorize: statistics.count(\.adobeDecisions)
    default: break
    }
    return nil
  }

  /// Whether `X-Device-Info` is base64 of an object with what must be in it.
  func describesDevice(_ request: Request) -> Bool {
    let text = request.headers.first(name: AdobePassHeader.information.rawValue)
    return text.flatMap(AdobePassHeaderReading.information) != nil
  }
}
