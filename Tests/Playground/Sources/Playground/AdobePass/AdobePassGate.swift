import NIOHTTP1
import PosternJSON
import PosternSupport

/// The checks of every request: the log, the throttle and the headers that all must have.
struct AdobePassGate: Sendable {
  let settings: AdobePassSettings
  let throttle: AdobePassThrottle
  let log: AdobePassLog
  let faults: Faults
  let statistics: Statistics

  /// Counts the request; the answer of one that comes too fast.
  func rejection(of request: Request, counting counter: WritableKeyPath<Statistics.Counters, Int>) -> Reply? {
    let device = request.headers.first(name: "x-forwarded-for") ?? "direct"
    log.note(request, device: device)
    let values = settings.values
    guard !values.throttles || throttle.admits(device) else {
      statistics.count(\.adobeThrottled)
      return AdobePassShape.throttled.reply(values)
    }
    statistics.count(counter)
    return nil
  }

  /// Whether `X-Device-Info` is base64 of an object with what must be in it.
  func describesDevice(_ request: Request) -> Bool {
    guard let text = request.headers.first(name: "x-device-info"), let bytes = Base64.decode(text),
      let information = try? JSONParser(maxDepth: 4).parse(bytes)
    else { return false }
    return ["model", "version", "osName", "osVersion", "connectionType"].allSatisfy {
      information[$0]?.stringValue?.isEmpty == false
    }
  }

  /// Whether `AP-Device-Identifier` is a fingerprint.
  func identifiesDevice(_ request: Request) -> Bool {
    guard let text = request.headers.first(name: "ap-device-identifier"), text.hasPrefix("fingerprint ") else {
      return false
    }
    return Base64.decode(String(text.dropFirst("fingerprint ".count)))?.isEmpty == false
  }
}
