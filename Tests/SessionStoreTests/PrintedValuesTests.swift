import PosternSupport
import PosternTestSupport
import SessionStore
import Testing

@Suite("Printed values of the stores")
struct PrintedValuesTests {
  @Test("a configuration is printed with a key, a password or an inner name")
  func values() throws {
    let key = try StoreKey(contents: Array(PrintedValue.secret.utf8.prefix(32)))
    var redis = RedisRecordStore.Configuration(url: "rediss://user:\(PrintedValue.secret)@store.test", key: key)
    redis.password = Secret(PrintedValue.secret)
    let samples: KeyValuePairs<String, Any> = [
      "StoreKey": key,
      "FileRecordStore.Configuration": FileRecordStore.Configuration(directory: "/var/lib/x", key: key),
      "RedisRecordStore.Configuration": redis,
    ]
    for (name, value) in samples { #expect(PrintedValue.faults(of: value) == [], "\(name)") }
  }
}
