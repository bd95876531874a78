// A select of 8 and one of 64 channels: Go has none of a number that is known only at run time, but
// by reflection, which costs several times as much.
package main

func hear8(c []chan int) (number int) {
	_ = c[7]
	select {
	case number = <-c[0]:
	case number = <-c[1]:
	case number = <-c[2]:
	case number = <-c[3]:
	case number = <-c[4]:
	case number = <-c[5]:
	case number = <-c[6]:
	case number = <-c[7]:
	}
	return
}

func hear64(c []chan int) (number int) {
	_ = c[63]
	select {
	case number = <-c[0]:
	case number = <-c[1]:
	case number = <-c[2]:
	case number = <-c[3]:
	case number = <-c[4]:
	case number = <-c[5]:
	case number = <-c[6]:
	case number = <-c[7]:
	case number = <-c[8]:
	case number = <-c[9]:
	case number = <-c[10]:
	case number = <-c[11]:
	case number = <-c[12]:
	case number = <-c[13]:
	case number = <-c[14]:
	case number = <-c[15]:
	case number = <-c[16]:
	case number = <-c[17]:
	case number = <-c[18]:
	case number = <-c[19]:
	case number = <-c[20]:
	case number = <-c[21]:
	case number = <-c[22]:
	case number = <-c[23]:
	case number = <-c[24]:
	case number = <-c[25]:
	case number = <-c[26]:
	case number = <-c[27]:
	case number = <-c[28]:
	case number = <-c[29]:
	case number = <-c[30]:
	case number = <-c[31]:
	case number = <-c[32]:
	case number = <-c[33]:
	case number = <-c[34]:
	case number = <-c[35]:
	case number = <-c[36]:
	case number = <-c[37]:
	case number = <-c[38]:
	case number = <-c[39]:
	case number = <-c[40]:
	case number = <-c[41]:
	case number = <-c[42]:
	case number = <-c[43]:
	case number = <-c[44]:
	case number = <-c[45]:
	case number = <-c[46]:
	case number = <-c[47]:
	case number = <-c[48]:
	case number = <-c[49]:
	case number = <-c[50]:
	case number = <-c[51]:
	case number = <-c[52]:
	case number = <-c[53]:
	case number = <-c[54]:
	case number = <-c[55]:
	case number = <-c[56]:
	case number = <-c[57]:
	case number = <-c[58]:
	case number = <-c[59]:
	case number = <-c[60]:
	case number = <-c[61]:
	case number = <-c[62]:
	case number = <-c[63]:
	}
	return
}
