import CPosternCurl
import PosternSupport

/// libcurl's multi handle: made before the thread starts, then used and cleaned up by the thread alone, except for
/// the wake-up.
// Sendable because the pointer never changes, `curl_multi_wakeup` is the one call libcurl allows from other threads,
// and the loop cleans up only after the last waker has left.
final class MultiHandle: @unchecked Sendable {
  private let pointer: UnsafeMutableRawPointer

  init(configuration: CurlTransport.Configuration) throws(CurlTransport.StartError) {
    guard let pointer = curl_multi_init() else { throw CurlTransport.StartError("libcurl gives no multi handle") }
    self.pointer = pointer
    // libcurl 7.88 goes on without its wake-up when there is no descriptor for it; each request would then wait for the
    // next iteration.
    guard curl_multi_wakeup(pointer) == CURLM_OK else {
      curl_multi_cleanup(pointer)
      throw CurlTransport.StartError("libcurl has no descriptor for its wake-up")
    }
    let pipelining = configuration.multiplexesHTTP2 ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING
    let bound = Self.bound(configuration.maxConnections)
    let options: [(CURLMoption, Int)] = [
      (CURLMOPT_MAX_TOTAL_CONNECTIONS, bound),
      (CURLMOPT_MAX_HOST_CONNECTIONS, Self.bound(configuration.maxConnectionsPerHost)),
      // The same: a lower one would close connections that are in use as soon as their exchange ends.
      (CURLMOPT_MAXCONNECTS, bound),
      (CURLMOPT_PIPELINING, Int(pipelining)),
    ]
    for (option, value) in options {
      let code = postern_curl_multi_set_long(pointer, option, value)
      if code != CURLM_OK {
        curl_multi_cleanup(pointer)
        throw CurlTransport.StartError("libcurl rejects multi option \(option.rawValue)")
      }
    }
  }

  /// libcurl takes zero for no bound.
  private static func bound(_ value: Int) -> Int { min(max(1, value), Int(Int32.max)) }

  /// Ends the wait under way, or the next one. From any thread.
  func wakeUp() { curl_multi_wakeup(pointer) }

  // MARK: - The loop's thread only

  func add(_ easy: UnsafeMutableRawPointer) -> Bool { curl_multi_add_handle(pointer, easy) == CURLM_OK }

  func remove(_ easy: UnsafeMutableRawPointer) { curl_multi_remove_handle(pointer, easy) }

  /// Moves all transfers on as far as they go without waiting.
  func perform() -> Bool {
    var running: Int32 = 0
    return curl_multi_perform(pointer, &running) == CURLM_OK
  }

  /// Waits until something can move on, a wake-up, or at most `milliseconds`.
  func poll(milliseconds: Int32) -> Bool { curl_multi_poll(pointer, nil, 0, milliseconds, nil) == CURLM_OK }

  /// The next finished transfer, each reported once.
  func nextFinished() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(pointer, &left) {
      if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
        return (easy, message.pointee.data.result)
      }
    }
    return nil
  }

  /// Closes all connections; the last call.
  func cleanUp() { curl_multi_cleanup(pointer) }
}
