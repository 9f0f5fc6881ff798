/// The events of the wire contract, section 7.
public enum EventName: String, SchemaEnumeration, Sendable, Hashable {
  case sessionRefreshed = "event.sessionRefreshed"
  case sessionEnded = "event.sessionEnded"
  case sessionExpiring = "event.sessionExpiring"
  case keysRotated = "event.keysRotated"
  case configReloaded = "event.configReloaded"
  case healthChanged = "event.healthChanged"
}
