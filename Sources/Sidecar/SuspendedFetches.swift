import AuthEngine
import HTTPMessages
import PosternJSON
import PosternSupport

/// Fetches that wait for advice to be satisfied, under continuations: the request as it was, so that nothing else can
/// ride on what the user agrees to.
final class SuspendedFetches: Sendable {
  /// A fetch as it was asked for.
  struct Origin: Sendable {
    let owner: UInt32
    /// The resource server's name in the configuration.
    let resource: String
    /// Where it was: what was agreed to for one place is not sent to another.
    let baseURL: HTTPURL
    let request: ResourceRequest
    let options: FetchOptions
    let stream: BodyStream?
    let task: String
    let wait: Duration
  }

  /// One that has stopped.
  struct Fetch: Sendable {
    let origin: Origin
    let session: SessionHandle
    let advices: [PolicyAdvice]
    let progress: AdviceProgress
  }

  /// One that was taken, and could be put back.
  typealias Taken = WaitingRoom<Fetch>.Taken

  /// A delegate has as long to answer as its fetch is kept: that much later it is still there.
  private static let margin = Duration.seconds(5)
  /// The largest request that a message can hold fits into one peer's share, as long as not two others have taken
  /// theirs.
  private static let limits = WaitingRoom<Fetch>.Limits(
    most: 2048, mostOfOne: 256, maxBytes: 64 << 20, maxBytesOfOne: 32 << 20, margin: margin)

  private let room: WaitingRoom<Fetch>

  init(clock: any EngineClock) { room = WaitingRoom(Self.limits, clock: clock) }

  /// How many wait.
  var count: Int { room.count }

  /// Keeps a fetch; nil when there is no room.
  func hold(_ fetch: Fetch) -> String? {
    let name = SessionHandle.random().text
    let origin = fetch.origin
    return room.keep(fetch, as: name, of: origin.owner, byteCount: Self.size(of: fetch), for: origin.wait) ? name : nil
  }

  /// A fetch of `owner`'s, which goes on waiting.
  func fetch(_ name: String, of owner: UInt32) -> Fetch? { room.value(name, of: owner) }

  /// Takes a fetch of `owner`'s: of several callers one gets it.
  func take(_ name: String, of owner: UInt32) -> Taken? { room.take(name, of: owner) }

  /// Puts one back, for as long as it would have waited: nothing has been sent.
  func putBack(_ taken: Taken) { room.putBack(taken) }

  /// The fetch is over, or goes on by itself.
  func release(_ name: String) { room.remove(name) }

  /// Nobody has answered who was asked about it, for all the time that it had: it stops now. False when it is gone.
  func stop(_ name: String, of owner: UInt32) -> Bool { room.prolong(name, of: owner, late: Self.margin) }

  /// The user has done their part: from here on there is as much time again. False when it is gone.
  func extend(_ name: String, of owner: UInt32) -> Bool { room.prolong(name, of: owner) }

  private static func size(of fetch: Fetch) -> Int {
    let request = fetch.origin.request
    let parts = (request.multipart ?? []).reduce(0) { $0 + $1.data.count + 1024 }
    let fields = request.headers.lines.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    // As a text: values nest, and a single one may have megabytes.
    let parameters = request.parameters.map { JSONWriter().withBytes(of: .object($0)) { $0.count } } ?? 0
    return 4096 + (request.body?.count ?? 0) + parts + fields + request.path.utf8.count + parameters
      + (request.parameters?.count ?? 0) * 256
  }
}
